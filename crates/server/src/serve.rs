//! Serves a booted daemon until it shuts down.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use bethink_config::{Home, Settings};
use bethink_daemon::Daemon;
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accept::Connections;
use crate::app::{Capability, RunningKeys, ServerState};
use crate::daemon_file::Announcement;
use crate::guard::Guard;
use crate::listen::{self, ListenError};
use crate::pages::Pages;
use crate::router::router;
use crate::token::{ServerToken, TokenError};

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
    let token = ServerToken::of(&home)?;
    let (tcp, address) = listen::tcp(&settings.daemon.listen).await?;
    let unix = if settings.daemon.socket { unix_listener(&home) } else { None };

    let (tasks, models) = (TaskTracker::new(), daemon.clone());
    let pages = Arc::new(Pages::default());
    let app = ServerState {
        daemon,
        limits: (&settings.daemon).into(),
        stopping: shutdown.clone(),
        running_keys: RunningKeys::default(),
        pages: pages.clone(),
        address,
        capability: Capability(token.capability()),
        tasks: tasks.clone(),
    };
    let guard = Arc::new(Guard::new(address, &settings.daemon, token, pages));
    let routes = router(app, entrances, guard);
    let connections = Connections::new(routes, &settings.daemon, shutdown, tasks);

    let socket = unix.is_some().then(|| home.socket());
    let announcement = Announcement::write(&home, address, socket)
        .map_err(|source| ServeError::DaemonFile { path: home.daemon_file(), source })?;
    tracing::info!(url = %format_args!("http://{address}"), socket = unix.is_some(), "serving");

    let accept_unix = async {
        if let Some(listener) = unix {
            connections.accept_unix(listener).await;
        }
    };
    tokio::join!(connections.accept_tcp(tcp), accept_unix);
    // Removed before the drain, so that a client starts another daemon instead of waiting for this one.
    drop(announcement);
    tracing::info!("stopping");
    models.close_models();
    connections.drain().await;
    Ok(())
}

/// The socket is optional. If it cannot be created (a path over 107 bytes, or a file system without sockets), the
/// daemon serves only TCP.
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
