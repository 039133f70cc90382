//! The lock of the home directory. The daemon that holds it owns all leased jobs.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::boot::BootError;

/// Creates and locks the home. The lock is held as long as the file is open.
pub(crate) fn lock_home(home: &Path) -> Result<File, BootError> {
    let cannot = |source| BootError::Home { home: home.to_owned(), source };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home).map_err(cannot)?;
    let path = home.join("lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        // A link planted here must not make the daemon overwrite another file.
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(&path)
        .map_err(cannot)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = std::fs::read_to_string(&path).unwrap_or_default();
            let holder = match holder.trim() {
                "" => "just starting".to_owned(),
                holder => holder.to_owned(),
            };
            return Err(BootError::Owned { home: home.to_owned(), holder });
        }
        Err(TryLockError::Error(cause)) => return Err(cannot(cause)),
    }
    // Only for the error message of another daemon: the kernel holds the lock.
    let holder = format!("pid {}\n", std::process::id());
    file.set_len(0).and_then(|()| file.write_all(holder.as_bytes())).map_err(cannot)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

    use super::*;

    #[test]
    fn a_link_in_place_of_the_lock_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let other = home.path().join("other");
        std::fs::write(&other, "of somebody else").unwrap();
        std::os::unix::fs::symlink(&other, home.path().join("lock")).unwrap();
        assert!(matches!(lock_home(home.path()), Err(BootError::Home { .. })));
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "of somebody else");
    }
}
