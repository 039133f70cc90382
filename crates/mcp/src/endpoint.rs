//! `/mcp`: each request stands for itself, so that a restart of the daemon ends no client's session.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use bethink_daemon::Daemon;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use crate::MESSAGE_BYTES;
use crate::manners::manners;
use crate::server::Server;

/// Method and path of each route.
pub const ROUTES: &[(&str, &str)] = &[("POST", "/mcp")];

/// The endpoint; its streams end when `stop` is cancelled. It belongs behind the server's guard, which knows the
/// hosts and the token; no page of a browser is let in here, wherever it comes from.
pub fn router(daemon: Daemon, stop: CancellationToken) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MESSAGE_BYTES)
        .with_cancellation_token(stop)
        // The guard's list has the configured hosts too; a second one would refuse those.
        .disable_allowed_hosts()
        .enforce_origin_validation();
    let server = Server::new(daemon);
    let make = move || Ok(server.clone());
    let service =
        StreamableHttpService::new(make, Arc::new(NeverSessionManager::default()), config);
    Router::new().route_service("/mcp", service).layer(from_fn(manners))
}
