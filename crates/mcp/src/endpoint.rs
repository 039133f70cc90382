//! The `/mcp` endpoint. Each request is independent, so a restart of the daemon does not end a client's session.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use bethink_daemon::Daemon;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use crate::MESSAGE_BYTES;
use crate::jsonrpc::check_message;
use crate::server::Server;

/// Method and path of each route.
pub const ROUTES: &[(&str, &str)] = &[("POST", "/mcp")];

/// Origins of pages on this machine. The server's guard decides which of them are allowed.
const ORIGINS: [&str; 3] = ["http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"];

/// Returns the endpoint's router. Its streams end when `stop` is cancelled. The router must be placed behind the
/// server's guard, which checks host, origin and token. Pages of other origins are rejected even if the settings trust
/// them.
pub fn router(daemon: Daemon, stop: CancellationToken) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MESSAGE_BYTES)
        .with_cancellation_token(stop)
        // The guard checks hosts. The library's own list would reject hosts that the settings allow.
        .disable_allowed_hosts()
        .with_allowed_origins(ORIGINS)
        .enforce_origin_validation();
    let server = Server::new(daemon);
    let make = move || Ok(server.clone());
    let service =
        StreamableHttpService::new(make, Arc::new(NeverSessionManager::default()), config);
    Router::new().route_service("/mcp", service).layer(from_fn(check_message))
}
