//! The file with a home's token: created at the first start, readable only by its owner.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bethink_config::Home;
use bethink_credentials::HomeToken;
use bethink_service::private_file::{self, sync_parent, write_new};
use rustix::fs::OFlags;
use uuid::Uuid;

/// Minimum length of a token, in bytes. A generated token has 64 bytes.
const MIN_BYTES: usize = 32;
const MAX_BYTES: u64 = 4_096;

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("could not {what} {path}")]
    File {
        what: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} {why}; delete it, and the daemon will create a new one when it starts")]
    Untrusted { path: PathBuf, why: &'static str },
}

/// Reads the token of a home, or creates it.
pub(crate) fn of(home: &Home) -> Result<HomeToken, TokenError> {
    make_private(home.path())?;
    let path = home.token();
    match read(&path) {
        Err(TokenError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            create(&path)?;
            read(&path)
        }
        other => other,
    }
}

/// Stores another token. The token is durable when this function returns.
pub(crate) fn replace(home: &Home, token: &HomeToken) -> Result<(), TokenError> {
    let path = home.token();
    private_file::replace(&path, &line(token)).map_err(|source| TokenError::File {
        what: "replace",
        path,
        source,
    })
}

fn line(token: &HomeToken) -> Vec<u8> {
    format!("{}\n", token.expose()).into_bytes()
}

/// Creates the home if it is missing, and makes it private.
fn make_private(home: &Path) -> Result<(), TokenError> {
    let failed = |what| move |source| TokenError::File { what, path: home.to_path_buf(), source };
    if !home.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(home).map_err(failed("create"))?;
    }
    let mode = fs::metadata(home).map_err(failed("read the permissions of"))?.permissions().mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(home, Permissions::from_mode(0o700))
            .map_err(failed("restrict the permissions of"))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<HomeToken, TokenError> {
    let failed = |source| TokenError::File { what: "read", path: path.to_path_buf(), source };
    let untrusted = |why| Err(TokenError::Untrusted { path: path.to_path_buf(), why });
    let nofollow = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    if fs::symlink_metadata(path).map_err(failed)?.is_symlink() {
        return untrusted("is a symbolic link");
    }
    let file = OpenOptions::new().read(true).custom_flags(nofollow).open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return untrusted("is not a file");
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return untrusted("belongs to another user");
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return untrusted("can be read by others");
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(failed)?;
    let token = text.trim();
    if token.len() < MIN_BYTES || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return untrusted("does not contain a token");
    }
    Ok(HomeToken::new(token))
}

/// Writes a temporary file and links it. A daemon that is killed meanwhile leaves no partial token, and a token that
/// another daemon creates meanwhile is not replaced.
fn create(path: &Path) -> Result<(), TokenError> {
    let failed = |source| TokenError::File { what: "create", path: path.to_path_buf(), source };
    let draft = path.with_extension(Uuid::new_v4().simple().to_string());
    let written =
        write_new(&draft, &line(&HomeToken::random())).and_then(|()| fs::hard_link(&draft, path));
    let removed = fs::remove_file(&draft);
    match written {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => removed.map_err(failed)?,
    }
    sync_parent(path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        (dir, home)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn made_once_and_private() {
        let (_dir, home) = home();
        let first = of(&home).unwrap();
        assert_eq!(first.expose().len(), 64);
        assert!(of(&home).unwrap().is(first.expose().as_bytes()));
        assert_eq!((mode(home.path()), mode(&home.token())), (0o700, 0o600));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_home_that_others_can_read_is_made_private() {
        let (_dir, home) = home();
        fs::create_dir(home.path()).unwrap();
        fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
        of(&home).unwrap();
        assert_eq!(mode(home.path()), 0o700);
    }

    #[test]
    fn another_home_has_another_token() {
        let ((_a, one), (_b, two)) = (home(), home());
        assert!(!of(&one).unwrap().is(of(&two).unwrap().expose().as_bytes()));
    }

    #[test]
    fn a_file_that_may_not_be_ours_is_refused() {
        let check = |prepare: &dyn Fn(&Path), expect: &str| {
            let (_dir, home) = home();
            fs::create_dir(home.path()).unwrap();
            prepare(&home.token());
            let error = of(&home).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        let good = "0123456789abcdef0123456789abcdef";
        check(&|path| std::os::unix::fs::symlink("/etc/hostname", path).unwrap(), "symbolic link");
        check(&|path| fs::create_dir(path).unwrap(), "is not a file");
        check(
            &|path| {
                fs::write(path, good).unwrap();
                fs::set_permissions(path, Permissions::from_mode(0o640)).unwrap();
            },
            "read by others",
        );
        check(&|path| write_new(path, b"").unwrap(), "does not contain a token");
        check(&|path| write_new(path, b"short").unwrap(), "does not contain a token");
        let spaced = format!("{good} {good}");
        check(&|path| write_new(path, spaced.as_bytes()).unwrap(), "does not contain a token");
    }
}
