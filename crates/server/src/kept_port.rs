//! The port of a home whose settings do not specify one. It is chosen at the home's first start, and saved.
//!
//! Several homes and users share a machine, and agents' settings contain the port, so the port must be free and must
//! not change unnecessarily.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;

use bethink_config::Home;
use bethink_service::private_file;
use tokio::net::TcpListener;

use crate::listen::{self, ListenError};

/// The port that is tried first.
const USUAL: u16 = 4747;
/// The last port that is tried. All are below the ports that the system gives to outgoing connections, which could
/// otherwise take the home's port while the daemon is stopped.
const LAST: u16 = 4847;

/// A listener on the home's own port.
#[derive(Debug)]
pub(crate) struct OwnPort {
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
    /// The port that the home used before, if another program has taken it.
    pub(crate) lost: Option<u16>,
}

/// Listens on the home's saved port, or else on the first free port.
pub(crate) async fn listen(home: &Home) -> Result<OwnPort, ListenError> {
    first_free(kept(home), USUAL..=LAST).await
}

async fn first_free(kept: Option<u16>, ports: RangeInclusive<u16>) -> Result<OwnPort, ListenError> {
    let mut bound = bind(kept.unwrap_or(*ports.start())).await;
    for port in ports {
        if !bound.as_ref().is_err_and(is_taken) {
            break;
        }
        bound = bind(port).await;
    }
    let (listener, address) = bound?;
    let lost = kept.filter(|port| *port != address.port());
    Ok(OwnPort { listener, address, lost })
}

async fn bind(port: u16) -> Result<(TcpListener, SocketAddr), ListenError> {
    listen::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await
}

fn is_taken(error: &ListenError) -> bool {
    matches!(error, ListenError::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse)
}

fn kept(home: &Home) -> Option<u16> {
    fs::read_to_string(home.port()).ok()?.trim().parse().ok()
}

/// Saves the port for later starts.
pub(crate) fn keep(home: &Home, port: u16) -> io::Result<()> {
    if kept(home) == Some(port) {
        return Ok(());
    }
    private_file::replace(&home.port(), format!("{port}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns two ports, of which the first one is taken.
    async fn taken_and_free() -> (TcpListener, u16, u16) {
        let taken = bind(0).await.unwrap();
        let free = bind(0).await.unwrap().1.port();
        (taken.0, taken.1.port(), free)
    }

    #[tokio::test]
    async fn a_first_start_passes_over_ports_that_are_taken() {
        let (_other, taken, free) = taken_and_free().await;
        let own = first_free(Some(free), taken..=taken).await.unwrap();
        assert_eq!((own.address.port(), own.lost), (free, None), "the saved port is free");
        let (low, high) = (taken.min(free), taken.max(free));
        let own = first_free(None, low..=high).await.unwrap();
        assert!(own.address.port() != taken && own.lost.is_none());
        let error = first_free(None, taken..=taken).await.unwrap_err();
        assert!(is_taken(&error), "{error}");
    }

    #[tokio::test]
    async fn a_kept_port_that_is_taken_is_lost() {
        let (_other, taken, free) = taken_and_free().await;
        let own = first_free(Some(taken), free..=free).await.unwrap();
        assert_eq!((own.address.port(), own.lost), (free, Some(taken)));
    }

    #[test]
    fn a_port_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path());
        assert_eq!(kept(&home), None);
        keep(&home, 4750).unwrap();
        assert_eq!(kept(&home), Some(4750));
        fs::write(home.port(), "not a port").unwrap();
        assert_eq!(kept(&home), None);
    }
}
