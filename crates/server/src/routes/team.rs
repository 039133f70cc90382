//! Memory that several people share: where it is stored, its state, how it is synced, and proposals for it.

use axum::extract::State;
use bethink_api as api;
use bethink_daemon::Daemon;
use http::StatusCode;
use uuid::Uuid;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::change::Change;
use crate::openapi::Key;
use crate::path::Id;
use crate::query::Asked;

/// Get the state of a project's team memory.
#[utoipa::path(
    get, path = "/v1/team", tag = "team", operation_id = "team_get",
    params(api::TeamQuery),
    responses((status = 200, body = api::TeamStatus))
)]
pub(crate) async fn status(
    State(app): State<ServerState>,
    Asked(asked): Asked<api::TeamQuery>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.team.team_status(&asked.project_dir, asked.ask).await?)
}

/// Choose where the team memory is stored. If it has a remote, it is a clone, which `sync` keeps up to date. If the
/// remote is unreachable, the answer is 502.
#[utoipa::path(
    post, path = "/v1/team/init", tag = "team", operation_id = "team_init",
    params(Key),
    request_body = api::TeamInit,
    responses((status = 200, body = api::TeamSync))
)]
pub(crate) async fn init(change: Change) -> Reply {
    let request = change.sent.json()?;
    change.done(|daemon| async move { daemon.team.team_init(request).await }).await
}

/// Fetch, merge and push. If both sides changed a topic, both versions are kept. Files that contain a secret are
/// neither pulled nor pushed. If the remote is unreachable, the answer is 502.
#[utoipa::path(
    post, path = "/v1/team/sync", tag = "team", operation_id = "team_sync",
    params(Key),
    request_body = api::TeamSyncRequest,
    responses((status = 200, body = api::TeamSync))
)]
pub(crate) async fn sync(change: Change) -> Reply {
    let request: api::TeamSyncRequest = change.sent.json()?;
    change.done(|daemon| async move { daemon.team.team_sync(request).await }).await
}

/// Resolve a conflict: keep one version of a topic, or a merged text. The other versions are removed but remain in the
/// history. If it is not clear which version is meant, the answer is 409.
#[utoipa::path(
    post, path = "/v1/team/resolve", tag = "team", operation_id = "team_resolve",
    params(Key),
    request_body = api::ResolveConflict,
    responses((status = 200, body = api::ConflictResolved))
)]
pub(crate) async fn resolve(change: Change) -> Reply {
    let request = change.sent.json()?;
    change.done(|daemon| async move { daemon.team.resolve_conflict(request).await }).await
}

/// Propose a private topic for the team memory. Approval removes the private topic, unless `keep_private` is set.
#[utoipa::path(
    post, path = "/v1/memories/share", tag = "team", operation_id = "memory_share",
    params(Key),
    request_body = api::ShareMemory,
    responses((status = 201, body = api::DecidedProposal))
)]
pub(crate) async fn share(change: Change) -> Reply {
    let request = change.sent.json()?;
    let work = |daemon: Daemon| async move { daemon.memories.share_memory(request).await };
    change.done_as(StatusCode::CREATED, work).await
}

/// List proposals that are waiting for a person, newest first.
#[utoipa::path(
    get, path = "/v1/proposals", tag = "team", operation_id = "proposal_list",
    params(api::ProposalQuery),
    responses((status = 200, body = api::Proposals))
)]
pub(crate) async fn proposals(
    State(app): State<ServerState>,
    Asked(asked): Asked<api::ProposalQuery>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.memories.proposals(asked.project_dir.as_deref(), asked.all).await?)
}

/// Propose a topic for the team memory. It is added when a person approves it.
#[utoipa::path(
    post, path = "/v1/proposals", tag = "team", operation_id = "proposal_create",
    params(Key),
    request_body = api::Propose,
    responses((status = 201, body = api::DecidedProposal))
)]
pub(crate) async fn propose(change: Change) -> Reply {
    let request = change.sent.json()?;
    let key = change.sent.key.clone();
    let work = |daemon: Daemon| async move { daemon.memories.propose_memory(request, key).await };
    change.done_as(StatusCode::CREATED, work).await
}

/// Approve a proposal. If the topic has changed since the proposal was made, the answer is 409.
#[utoipa::path(
    post, path = "/v1/proposals/{id}/approve", tag = "team", operation_id = "proposal_approve",
    params(("id" = uuid::Uuid, Path), Key),
    request_body = api::Approval,
    responses((status = 200, body = api::DecidedProposal))
)]
pub(crate) async fn approve(Id(id): Id<Uuid>, change: Change) -> Reply {
    let approval: api::Approval = change.sent.json_or_default()?;
    change.done(|daemon| async move { daemon.memories.approve_proposal(id, approval).await }).await
}

/// Reject a proposal. Nothing with the same meaning is proposed again.
#[utoipa::path(
    post, path = "/v1/proposals/{id}/reject", tag = "team", operation_id = "proposal_reject",
    params(("id" = uuid::Uuid, Path), Key),
    request_body = Option<api::Rejecting>,
    responses((status = 200, body = api::DecidedProposal))
)]
pub(crate) async fn reject(Id(id): Id<Uuid>, change: Change) -> Reply {
    let api::Rejecting { reason } = change.sent.json_or_default()?;
    let work = |daemon: Daemon| async move {
        daemon.memories.reject_proposal(id, reason.as_deref()).await
    };
    change.done(work).await
}
