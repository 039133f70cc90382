//! Serves a booted daemon until it shuts down.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use bethink_config::{Home, Settings};
use bethink_daemon::Daemon;
use bethink_service::is_disk_fault;
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accept::Connections;
use crate::app::{RunningKeys, ServerState};
use crate::current_token::CurrentToken;
use crate::daemon_file::Announcement;
use crate::guard::Guard;
use crate::kept_port::{self, OwnPort};
use crate::listen::{self, ListenError};
use crate::moved::moved;
use crate::pages::Pages;
use crate::router::router;
use crate::token::TokenError;

/// The value of `daemon.listen` for a port that the home chooses and keeps.
const AUTO: &str = "auto";

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("could not write {path}")]
    DaemonFile {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Serves until `shutdown`, then finishes running requests within the drain deadline.
///
/// The daemon itself is left running: the caller shuts it down afterwards.
///
/// `entrances` are the routes of the gateway, MCP and the dashboard. They must not have fallbacks, because the server
/// has one for all routes. The guard checks their requests, too, and removes the daemon's token, so that no entrance
/// sees it.
pub async fn serve(
    daemon: Daemon,
    settings: &Settings,
    entrances: Vec<Router>,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let home = Home::new(&settings.home);
    let token = Arc::new(CurrentToken::of(home.clone(), shutdown.clone())?);
    let (tcp, address) = match settings.daemon.listen.as_str() {
        AUTO => own_port(&home, &token).await?,
        listen => listen::tcp(listen).await?,
    };
    let unix = if settings.daemon.socket { unix_listener(&home) } else { no_socket(&home) };

    let (tasks, models) = (TaskTracker::new(), daemon.clone());
    let storage = models.cx.storage();
    let pages = Arc::new(Pages::default());
    let app = ServerState {
        daemon,
        limits: (&settings.daemon).into(),
        token: token.clone(),
        running_keys: RunningKeys::default(),
        pages: pages.clone(),
        address,
        tasks: tasks.clone(),
    };
    let guard = Arc::new(Guard::new(address, &settings.daemon, token, pages));
    let routes = router(app, entrances, guard);
    let connections = Connections::new(routes, &settings.daemon, shutdown, tasks);

    let socket = unix.is_some().then(|| home.socket());
    let announce =
        || Announcement::write(&home, address, socket.clone(), models.database(), storage);
    let mut announcement = match announce() {
        Err(error) if is_disk_fault(&error) => {
            tracing::warn!(
                "until daemon.json can be written, clients need the Unix socket or BETHINK_URL"
            );
            None
        }
        announced => Some(
            announced
                .map_err(|source| ServeError::DaemonFile { path: home.daemon_file(), source })?,
        ),
    };
    tracing::info!(url = %format_args!("http://{address}"), socket = unix.is_some(), "serving");

    let accept_unix = async {
        if let Some(listener) = unix {
            connections.accept_unix(listener).await;
        }
    };
    let announce_later = async {
        while announcement.is_none() {
            storage.healed().await;
            announcement = announce().ok();
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = async { tokio::join!(connections.accept_tcp(tcp), accept_unix) } => {}
        () = announce_later => {}
    }
    // Removed before the drain, so that a client starts another daemon instead of waiting for this one.
    drop(announcement);
    tracing::info!("stopping");
    models.close_models();
    connections.drain().await;
    Ok(())
}

/// Listens on the home's own port.
async fn own_port(
    home: &Home,
    token: &CurrentToken,
) -> Result<(TcpListener, SocketAddr), ListenError> {
    let OwnPort { listener, address, lost } = kept_port::listen(home).await?;
    let kept = match lost {
        Some(lost) => moved(home, token, lost, address.port()),
        None => Ok(()),
    };
    // Without a saved port, the next start chooses a port again.
    if let Err(error) = kept.and_then(|()| kept_port::keep(home, address.port())) {
        tracing::error!(%error, "could not save this home's port, so the next start may use another one");
    }
    Ok((listener, address))
}

/// Removes the socket of an earlier daemon, which clients would otherwise try.
fn no_socket(home: &Home) -> Option<UnixListener> {
    if let Err(error) = listen::remove_socket(&home.socket()) {
        tracing::warn!(path = %home.socket().display(), %error, "could not remove a Unix socket");
    }
    None
}

/// Opens the Unix socket, which is optional. If it cannot be created (a path over 107 bytes, or a file system without
/// sockets), the daemon serves only TCP.
fn unix_listener(home: &Home) -> Option<UnixListener> {
    let path = home.socket();
    match listen::unix(&path) {
        Ok(listener) => Some(listener),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "could not create the Unix socket");
            None
        }
    }
}
