//! The prompt, what fills it, and how it differs from the history.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::body::Sent;
use crate::change::Change;
use crate::idempotency::to_the_end;
use crate::openapi::Key;
use crate::path::{Id, SessionPath};

/// Build the prompt for the next model call.
///
/// A second request without a new message gets the same prompt, so an `Idempotency-Key` is accepted but not stored.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/context", tag = "context", operation_id = "context_build",
    params(("id" = uuid::Uuid, Path)),
    request_body = Option<api::ContextRequest>,
    responses((status = 200, body = api::NextPrompt))
)]
pub(crate) async fn context(
    State(app): State<ServerState>,
    Id(id): SessionPath,
    sent: Sent,
) -> Reply {
    let request = sent.json_or_default()?;
    let daemon = app.daemon.clone();
    to_the_end(
        &app,
        async move { Ok(HttpAnswer::text(daemon.sessions.prompt(id, request).await?)) },
    )
    .await
}

/// Get what fills the context window. This changes nothing.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/context/report", tag = "context", operation_id = "context_report",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::ContextReport))
)]
pub(crate) async fn report(State(app): State<ServerState>, Id(id): SessionPath) -> Reply {
    HttpAnswer::ok(&app.daemon.sessions.report(id).await?)
}

/// Ask the provider to count the tokens of the prompt.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/context/count", tag = "context", operation_id = "context_count",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::PromptCount))
)]
pub(crate) async fn count(State(app): State<ServerState>, Id(id): SessionPath) -> Reply {
    HttpAnswer::ok(&app.daemon.sessions.count(id).await?)
}

/// Report that the provider rejected the prompt. The daemon takes a step that can help, and returns whether to try
/// again.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/recover", tag = "context", operation_id = "context_recover",
    params(("id" = uuid::Uuid, Path), Key),
    request_body = api::RecoverRequest,
    responses((status = 200, body = api::Recovered))
)]
pub(crate) async fn recover(Id(id): SessionPath, change: Change) -> Reply {
    let request = change.sent.json()?;
    change.done(|daemon| async move { daemon.sessions.recover(id, request).await }).await
}

/// List how prompts differ from the history: what they add, such as recalled memories, and what they leave out.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/decisions", tag = "context", operation_id = "decision_list",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::DecisionList))
)]
pub(crate) async fn decisions(State(app): State<ServerState>, Id(id): SessionPath) -> Reply {
    HttpAnswer::ok(&app.daemon.sessions.decisions(id).await?)
}
