//! The prompt, and what fills it.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::Sent;
use crate::idempotency::{once, to_the_end};
use crate::params::SessionPath;

/// The body of the next model call: `{system, messages, tools, report}`.
///
/// Asked again without a new message it answers the same prompt, so that an `Idempotency-Key` is
/// taken and needs no keeping.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/context", tag = "context",
    params(("id" = uuid::Uuid, Path)),
    request_body = Option<api::ContextRequest>,
    responses((status = 200, body = Object))
)]
pub(crate) async fn context(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    sent: Sent,
) -> Reply {
    let request = sent.json_or_default()?;
    let daemon = app.daemon.clone();
    to_the_end(&app, async move { Ok(Answer::text(daemon.context(id, request).await?)) }).await
}

/// The report alone; changes nothing.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/context/report", tag = "context",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::ContextReport))
)]
pub(crate) async fn report(State(app): State<App>, SessionPath(id): SessionPath) -> Reply {
    Answer::ok(&app.daemon.report(id).await?)
}

/// The provider's own count of the prompt; asks it.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/context/count", tag = "context",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::PromptCount))
)]
pub(crate) async fn count(State(app): State<App>, SessionPath(id): SessionPath) -> Reply {
    Answer::ok(&app.daemon.count(id).await?)
}

/// The provider refused the prompt: what it said, and what was done about it.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/recover", tag = "context",
    params(("id" = uuid::Uuid, Path)),
    request_body = api::RecoverRequest,
    responses((status = 200, body = api::Recovered))
)]
pub(crate) async fn recover(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    sent: Sent,
) -> Reply {
    let request = sent.json()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.recover(id, request).await?) }).await
}
