//! `daemon.json`: written when the daemon starts serving, removed when it stops.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bethink_api::DaemonFile;
use bethink_config::Home;
use bethink_service::{ServiceError, StorageNews};

/// The file, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Announcement {
    path: PathBuf,
    draft: PathBuf,
    socket: Option<PathBuf>,
}

impl Announcement {
    /// Replaces the file in one step, so that a client never reads half of it.
    pub(crate) fn write(
        home: &Home,
        address: SocketAddr,
        socket: Option<PathBuf>,
        database: Option<&str>,
        storage: &StorageNews,
    ) -> io::Result<Self> {
        let file = DaemonFile {
            url: format!("http://{address}"),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            socket: socket.as_ref().map(|path| path.display().to_string()),
            database: database.map(str::to_owned),
        };
        let (path, draft) = (home.daemon_file(), home.daemon_file_draft());
        let text = serde_json::to_vec(&file)?;
        let suspect = |error: &io::Error| {
            tracing::warn!(%error, path = %path.display(), "could not write daemon.json");
            storage.suspect(&ServiceError::of_file("could not write daemon.json", error));
        };
        let replaced = overwrite(&draft, &text).and_then(|()| fs::rename(&draft, &path));
        replaced.inspect_err(suspect)?;
        // Reserves disk space for the next daemon's file, even if somebody removes this one after a crash. If there is
        // no space, the health check reports it before a write fails.
        drop(overwrite(&draft, &text).inspect_err(suspect));
        Ok(Self { path, draft, socket })
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // The file is kept under another name: its disk space lets the next daemon start on a full disk.
        let removed = fs::rename(&self.path, &self.draft);
        for error in [removed, self.socket.as_ref().map_or(Ok(()), fs::remove_file)] {
            if let Err(error) = error {
                tracing::debug!(%error, "could not remove the files that announce the daemon");
            }
        }
    }
}

/// Overwrites a file without releasing its disk space. The file is not synced: after a power failure, no daemon is
/// running.
fn overwrite(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.write_all(text)?;
    file.set_len(text.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_says_where_and_goes_with_the_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path());
        fs::write(home.socket(), "").unwrap();
        fs::write(home.daemon_file(), "left behind").unwrap();
        let address = "[::1]:4711".parse().unwrap();
        let announcement =
            Announcement::write(&home, address, Some(home.socket()), None, &StorageNews::default())
                .unwrap();
        let text = fs::read(home.daemon_file()).unwrap();
        let file: DaemonFile = serde_json::from_slice(&text).unwrap();
        assert_eq!((file.url.as_str(), file.pid), ("http://[::1]:4711", std::process::id()));
        let mode = fs::metadata(home.daemon_file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(
            fs::read(home.daemon_file_draft()).unwrap(),
            text,
            "the draft reserves disk space"
        );
        drop(announcement);
        assert!(!home.daemon_file().exists() && !home.socket().exists());
    }
}
