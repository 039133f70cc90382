//! The state that all handlers share.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::FromRef;
use bethink_config::DaemonSettings;
use bethink_daemon::Daemon;
use tokio_util::task::TaskTracker;

use crate::current_token::CurrentToken;
use crate::pages::Pages;

/// State of the router, cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ServerState {
    pub(crate) daemon: Daemon,
    pub(crate) limits: Limits,
    pub(crate) token: Arc<CurrentToken>,
    pub(crate) running_keys: RunningKeys,
    /// The dashboard's logins.
    pub(crate) pages: Arc<Pages>,
    /// The daemon's TCP address.
    pub(crate) address: SocketAddr,
    /// Connections and running work, which a shutdown waits for.
    pub(crate) tasks: TaskTracker,
}

/// Limits for request bodies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) body_bytes: u64,
    pub(crate) import_bytes: u64,
    pub(crate) depth: usize,
}

/// Idempotency keys whose first request has not been answered yet.
pub(crate) type RunningKeys = Arc<Mutex<HashSet<String>>>;

impl From<&DaemonSettings> for Limits {
    fn from(settings: &DaemonSettings) -> Self {
        Self {
            body_bytes: settings.max_body_bytes,
            import_bytes: settings.max_import_bytes,
            depth: usize::try_from(settings.max_depth).unwrap_or(usize::MAX),
        }
    }
}

impl FromRef<ServerState> for Limits {
    fn from_ref(app: &ServerState) -> Self {
        app.limits
    }
}
