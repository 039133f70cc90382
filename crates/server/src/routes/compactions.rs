//! Compactions and collapsed spans: create, list, undo, expand.

use axum::extract::State;
use bethink_api as api;
use bethink_transcript::{CollapseId, CompactionId};

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::change::Change;
use crate::openapi::Key;
use crate::path::{Id, OfSession, SessionPath};
use crate::query::Asked;

/// Compact a session now.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/compact", tag = "compactions", operation_id = "compaction_create",
    params(("id" = uuid::Uuid, Path), Key),
    request_body = Option<api::CompactRequest>,
    responses((status = 200, body = api::Compaction))
)]
pub(crate) async fn compact(Id(id): SessionPath, change: Change) -> Reply {
    let request = change.sent.json_or_default()?;
    let key = change.sent.key.clone();
    change.done(|daemon| async move { daemon.sessions.compact(id, request, key).await }).await
}

/// List the compactions of a session.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/compactions", tag = "compactions", operation_id = "compaction_list",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::Compactions))
)]
pub(crate) async fn list(State(app): State<ServerState>, Id(id): SessionPath) -> Reply {
    HttpAnswer::ok(&app.daemon.sessions.compactions(id).await?)
}

/// Undo a compaction: prompts show the messages again.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/compactions/{cid}/undo", tag = "compactions", operation_id = "compaction_undo",
    params(("id" = uuid::Uuid, Path), ("cid" = uuid::Uuid, Path), Key),
    responses((status = 200, body = api::Compaction))
)]
pub(crate) async fn undo(
    OfSession(id, compaction): OfSession<CompactionId>,
    change: Change,
) -> Reply {
    change.done(|daemon| async move { daemon.sessions.undo(id, compaction).await }).await
}

/// Redo the newest compaction after it was undone, with the same summary.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/compactions/{cid}/redo", tag = "compactions", operation_id = "compaction_redo",
    params(("id" = uuid::Uuid, Path), ("cid" = uuid::Uuid, Path), Key),
    responses((status = 200, body = api::Compaction))
)]
pub(crate) async fn redo(
    OfSession(id, compaction): OfSession<CompactionId>,
    change: Change,
) -> Reply {
    let key = change.sent.key.clone();
    change.done(|daemon| async move { daemon.sessions.redo(id, compaction, key).await }).await
}

/// Get the messages that a summary replaces.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/compactions/{cid}/expand", tag = "compactions", operation_id = "compaction_expand",
    params(("id" = uuid::Uuid, Path), ("cid" = uuid::Uuid, Path), api::ExpandQuery),
    responses((status = 200, body = api::Expanded))
)]
pub(crate) async fn expand(
    State(app): State<ServerState>,
    OfSession(id, compaction): OfSession<CompactionId>,
    Asked(asked): Asked<api::ExpandQuery>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.sessions.expand(id, compaction, asked).await?)
}

/// List the collapsed spans of a session, staged and committed.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/collapses", tag = "collapses", operation_id = "collapse_list",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::Collapses))
)]
pub(crate) async fn collapses(State(app): State<ServerState>, Id(id): SessionPath) -> Reply {
    HttpAnswer::ok(&app.daemon.sessions.collapses(id).await?)
}

/// Get the messages that a collapsed span replaces.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/collapses/{cid}/expand", tag = "collapses", operation_id = "collapse_expand",
    params(("id" = uuid::Uuid, Path), ("cid" = uuid::Uuid, Path), api::ExpandQuery),
    responses((status = 200, body = api::Expanded))
)]
pub(crate) async fn expand_collapse(
    State(app): State<ServerState>,
    OfSession(id, collapse): OfSession<CollapseId>,
    Asked(asked): Asked<api::ExpandQuery>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.sessions.expand_collapse(id, collapse, asked).await?)
}
