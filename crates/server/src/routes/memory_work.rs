//! Work on a project's whole memory: recall, extraction, lint, rebuild, consolidation, and Anthropic's memory tool.

use axum::extract::State;
use bethink_api as api;
use bethink_daemon::Daemon;
use http::StatusCode;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::body::Sent;
use crate::change::Change;
use crate::openapi::Key;
use crate::path::{Id, SessionPath};
use crate::query::Asked;

/// Recall the memories that fit a question, best first.
#[utoipa::path(
    post, path = "/v1/recall", tag = "memories", operation_id = "memory_recall",
    request_body = api::RecallRequest,
    responses((status = 200, body = api::RecallAnswer))
)]
pub(crate) async fn recall(State(app): State<ServerState>, sent: Sent) -> Reply {
    HttpAnswer::ok(&app.daemon.memories.recall(sent.json()?).await?)
}

/// Check recall with the project's own data: list topics that are not found by their own words, and topics that are
/// recalled too often. This changes nothing.
#[utoipa::path(
    post, path = "/v1/recall/check", tag = "memories", operation_id = "recall_check",
    request_body = api::RecallCheckRequest,
    responses((status = 200, body = api::RecallCheck))
)]
pub(crate) async fn check_recall(State(app): State<ServerState>, sent: Sent) -> Reply {
    HttpAnswer::ok(&app.daemon.memories.check_recall(sent.json()?).await?)
}

/// Extract memories from a session now, by default from its messages since the last extraction.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/extract", tag = "memories", operation_id = "session_extract",
    params(("id" = uuid::Uuid, Path), Key),
    request_body = api::ExtractRequest,
    responses((status = 200, body = api::Extracted))
)]
pub(crate) async fn extract(Id(id): SessionPath, change: Change) -> Reply {
    let request: api::ExtractRequest = change.sent.json_or_default()?;
    change.done(|daemon| async move { daemon.memories.extract_now(id, request).await }).await
}

/// Remove the memories that were learned in one session. Text from other sources stays, and earlier versions are kept.
#[utoipa::path(
    post, path = "/v1/memories/forget", tag = "memories", operation_id = "memory_forget",
    params(Key),
    request_body = api::ForgetRequest,
    responses((status = 200, body = api::Forgotten))
)]
pub(crate) async fn forget(change: Change) -> Reply {
    let request = change.sent.json()?;
    change.done(|daemon| async move { daemon.memories.forget_session(request).await }).await
}

/// Check a project's memory: where it is, how large it is, and what is wrong with it. This changes nothing.
#[utoipa::path(
    get, path = "/v1/memories/lint", tag = "memories", operation_id = "memory_lint",
    params(api::ScopeQuery),
    responses((status = 200, body = api::MemoryLint))
)]
pub(crate) async fn lint(
    State(app): State<ServerState>,
    Asked(asked): Asked<api::ScopeQuery>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.memories.memory_lint(&asked.project_dir, asked.scope).await?)
}

/// Update `MEMORY.md` to match the topics: lines of removed topics are removed, missing lines are added, and everything
/// else stays.
#[utoipa::path(
    post, path = "/v1/memories/rebuild", tag = "memories", operation_id = "memory_rebuild",
    params(Key),
    request_body = api::RebuildMemory,
    responses((status = 200, body = api::MemoryRebuilt))
)]
pub(crate) async fn rebuild(change: Change) -> Reply {
    let request = change.sent.json()?;
    change.done(|daemon| async move { daemon.memories.rebuild_memory(request).await }).await
}

/// Consolidate a project's private memory or the person's memory, show what that would change, or undo the last consolidation.
#[utoipa::path(
    post, path = "/v1/dream", tag = "memories", operation_id = "dream_start",
    params(Key),
    request_body = api::DreamRequest,
    responses((status = 202, description = "The job; its result is a `DreamResult`", body = api::Job))
)]
pub(crate) async fn dream(change: Change) -> Reply {
    let request = change.sent.json()?;
    let work = |daemon: Daemon| async move { daemon.memories.dream(request).await };
    change.done_as(StatusCode::ACCEPTED, work).await
}

/// Call the memory tool `memory_20250818` on a project's memory. An error that the model can correct is answered with 200 and
/// `is_error`.
#[utoipa::path(
    post, path = "/v1/memory-tool", tag = "memories", operation_id = "memory_tool_call",
    params(Key),
    request_body = api::MemoryToolCall,
    responses((status = 200, body = api::MemoryToolResult))
)]
pub(crate) async fn call_tool(change: Change) -> Reply {
    let request = change.sent.json()?;
    change.done(|daemon| async move { daemon.memories.memory_tool(request).await }).await
}
