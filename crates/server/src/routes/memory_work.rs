//! Work over a project's whole memory: recall, extraction, lint, rebuild, dream, and Anthropic's memory tool.

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

/// Memories that help with something, the best first; none where nothing fits.
#[utoipa::path(
    post, path = "/v1/recall", tag = "memories", operation_id = "memory_recall",
    request_body = api::RecallRequest,
    responses((status = 200, body = api::RecallAnswer))
)]
pub(crate) async fn recall(State(app): State<ServerState>, sent: Sent) -> Reply {
    HttpAnswer::ok(&app.daemon.memories.recall(sent.json()?).await?)
}

/// Look through a session now for what later ones should know; by default through what came since the last
/// extraction.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/extract", tag = "memories", operation_id = "session_extract",
    params(("id" = uuid::Uuid, Path), Key),
    request_body = api::ExtractRequest,
    responses((status = 200, body = api::Extracted))
)]
pub(crate) async fn extract(Id(id): SessionPath, change: Change) -> Reply {
    let request: api::ExtractRequest = change.json_or_default()?;
    change.done(|daemon| async move { daemon.memories.extract_now(id, request).await }).await
}

/// Take back what one session taught. What others wrote stays, and versions are kept.
#[utoipa::path(
    post, path = "/v1/memories/forget", tag = "memories", operation_id = "memory_forget",
    params(Key),
    request_body = api::ForgetRequest,
    responses((status = 200, body = api::Forgotten))
)]
pub(crate) async fn forget(change: Change) -> Reply {
    let request = change.json()?;
    change.done(|daemon| async move { daemon.memories.forget_session(request).await }).await
}

/// How a project's memory is: where it lies, how large it is, and what is wrong with it. Changes nothing.
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

/// Bring MEMORY.md up to date with the topics: lines of topics that are gone go, missing ones come, and
/// everything else stays.
#[utoipa::path(
    post, path = "/v1/memories/rebuild", tag = "memories", operation_id = "memory_rebuild",
    params(Key),
    request_body = api::RebuildMemory,
    responses((status = 200, body = api::MemoryRebuilt))
)]
pub(crate) async fn rebuild(change: Change) -> Reply {
    let request = change.json()?;
    change.done(|daemon| async move { daemon.memories.rebuild_memory(request).await }).await
}

/// Bring a project's own memory into order, look at what that would change, or take the last time back.
#[utoipa::path(
    post, path = "/v1/dream", tag = "memories", operation_id = "dream_start",
    params(Key),
    request_body = api::DreamRequest,
    responses((status = 202, description = "The job; its result is a `DreamResult`", body = api::Job))
)]
pub(crate) async fn dream(change: Change) -> Reply {
    let request = change.json()?;
    let work = |daemon: Daemon| async move { daemon.memories.dream(request).await };
    change.done_as(StatusCode::ACCEPTED, work).await
}

/// One call of the memory tool `memory_20250818` over a project's memory. What the model can put right is an
/// answer with `is_error`.
#[utoipa::path(
    post, path = "/v1/memory-tool", tag = "memories", operation_id = "memory_tool_call",
    params(Key),
    request_body = api::MemoryToolCall,
    responses((status = 200, body = api::MemoryToolResult))
)]
pub(crate) async fn call_tool(change: Change) -> Reply {
    let request = change.json()?;
    change.done(|daemon| async move { daemon.memories.memory_tool(request).await }).await
}
