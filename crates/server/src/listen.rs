//! The two listeners: TCP on a loopback address, and a Unix socket in the home.

use std::fs::{self, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use bethink_config::loopback;
use tokio::net::{TcpListener, UnixListener, UnixStream};

#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error(
        "could not listen on `{0}`: it is not an address of this machine only, such as 127.0.0.1:4750"
    )]
    NotLoopback(String),
    #[error(
        "could not listen on {address}; if another program uses the port, let bethink choose a different one: \
         `bethink config set daemon.listen auto`"
    )]
    Bind {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
}

/// Listens on the address in the settings.
pub(crate) async fn tcp(listen: &str) -> Result<(TcpListener, SocketAddr), ListenError> {
    let address = loopback(listen).ok_or_else(|| ListenError::NotLoopback(listen.to_owned()))?;
    bind(address).await
}

pub(crate) async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ListenError> {
    let failed = |source| ListenError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Replaces an existing socket. This daemon holds the lock of the home, so the socket belongs to a daemon that has
/// ended.
pub(crate) fn unix(path: &Path) -> io::Result<UnixListener> {
    remove_socket(path)?;
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Removes the socket of a daemon that has ended. While a socket exists, clients do not try TCP.
pub(crate) fn remove_socket(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => fs::remove_file(path),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is not a socket")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns whether the process at the other end of the connection belongs to the daemon's own user.
pub(crate) fn is_own_user(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_dead_daemons_socket_is_replaced_and_a_file_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.sock");
        drop(unix(&path).unwrap());
        assert!(path.exists());
        let listener = unix(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let (client, accepted) = tokio::join!(UnixStream::connect(&path), listener.accept());
        assert!(client.is_ok() && is_own_user(&accepted.unwrap().0));
        drop(listener);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "notes").unwrap();
        assert!(unix(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "notes");
    }
}
