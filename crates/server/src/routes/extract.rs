//! What sessions teach: looked for now, or taken back.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::Sent;
use crate::idempotency::once;
use crate::params::SessionPath;

/// Look through a session now for what later ones should know; by default through what came since the last
/// extraction.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/extract", tag = "memories",
    params(
        ("id" = uuid::Uuid, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters"),
    ),
    request_body = api::ExtractRequest,
    responses((status = 200, body = api::Extracted))
)]
pub(crate) async fn extract(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    sent: Sent,
) -> Reply {
    let request: api::ExtractRequest = sent.json_or_default()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.extract_now(id, request).await?) }).await
}

/// Take back what one session taught. What others wrote stays, and versions are kept.
#[utoipa::path(
    post, path = "/v1/memories/forget", tag = "memories",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters")),
    request_body = api::ForgetRequest,
    responses((status = 200, body = api::Forgotten))
)]
pub(crate) async fn forget(State(app): State<App>, sent: Sent) -> Reply {
    let request = sent.json()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.forget_session(request).await?) }).await
}
