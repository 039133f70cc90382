//! `daemon.json`: written when the daemon starts to serve, removed when it stops.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use bethink_api::DaemonFile;
use bethink_config::Home;

use crate::private_file;

/// The file, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Announcement {
    path: PathBuf,
    socket: Option<PathBuf>,
}

impl Announcement {
    /// Replaces the file in one step, so that a client never reads half of it.
    pub(crate) fn write(
        home: &Home,
        address: SocketAddr,
        socket: Option<PathBuf>,
    ) -> io::Result<Self> {
        let file = DaemonFile {
            url: format!("http://{address}"),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            socket: socket.as_ref().map(|path| path.display().to_string()),
        };
        let path = home.daemon_file();
        private_file::replace(&path, &serde_json::to_vec(&file)?)?;
        Ok(Self { path, socket })
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        for path in [Some(&self.path), self.socket.as_ref()].into_iter().flatten() {
            if let Err(error) = fs::remove_file(path) {
                tracing::debug!(path = %path.display(), %error, "could not be removed");
            }
        }
    }
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
        let announcement = Announcement::write(&home, address, Some(home.socket())).unwrap();
        let text = fs::read(home.daemon_file()).unwrap();
        let file: DaemonFile = serde_json::from_slice(&text).unwrap();
        assert_eq!((file.url.as_str(), file.pid), ("http://[::1]:4711", std::process::id()));
        let mode = fs::metadata(home.daemon_file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(announcement);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
