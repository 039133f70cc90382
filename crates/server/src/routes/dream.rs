//! Consolidation of a project's memory.

use axum::extract::State;
use bethink_api as api;
use http::StatusCode;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::Sent;
use crate::idempotency::once;

/// Bring a project's own memory into order, look at what that would change, or take the last time back.
#[utoipa::path(
    post, path = "/v1/dream", tag = "memories",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters")),
    request_body = api::DreamRequest,
    responses((status = 202, description = "The job; its result is a `DreamResult`", body = api::Job))
)]
pub(crate) async fn dream(State(app): State<App>, sent: Sent) -> Reply {
    let request = sent.json()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move {
        Answer::with(StatusCode::ACCEPTED, &daemon.dream(request).await?)
    })
    .await
}
