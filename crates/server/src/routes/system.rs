//! The daemon itself: health, metrics, the OpenAPI document.

use axum::extract::State;
use axum::response::IntoResponse;
use bethink_api as api;
use bytes::Bytes;
use http::header::CONTENT_TYPE;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;

/// Check whether the daemon is healthy. Requires no token.
#[utoipa::path(
    get, path = "/health", tag = "daemon", operation_id = "health_get", security(()),
    responses((status = 200, body = api::Health))
)]
pub(crate) async fn health(State(app): State<ServerState>) -> Reply {
    HttpAnswer::ok(&app.daemon.health())
}

/// Get counters and timings as Prometheus text.
#[utoipa::path(
    get, path = "/metrics", tag = "daemon", operation_id = "metrics_get",
    responses((status = 200, description = "Prometheus text", body = String, content_type = "text/plain"))
)]
pub(crate) async fn metrics(State(app): State<ServerState>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.daemon.metrics())
}

/// Generated from the handlers; a test compares it with them.
const OPENAPI: &str = include_str!("../../../../openapi.json");

/// Get this document. Requires no token.
#[utoipa::path(
    get, path = "/openapi.json", tag = "daemon", operation_id = "openapi_get", security(()),
    responses((status = 200, description = "An OpenAPI 3.1 document", body = Object))
)]
pub(crate) async fn openapi() -> HttpAnswer {
    HttpAnswer::text(Bytes::from_static(OPENAPI.as_bytes()))
}
