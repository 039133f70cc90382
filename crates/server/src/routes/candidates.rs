//! Candidates: statements that may be worth remembering, and wait until somebody keeps or drops them.

use axum::extract::State;
use bethink_api as api;
use http::StatusCode;
use uuid::Uuid;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::change::Change;
use crate::openapi::Key;
use crate::path::Id;
use crate::query::Asked;

/// List candidates that are waiting for a decision, newest first.
#[utoipa::path(
    get, path = "/v1/candidates", tag = "memories", operation_id = "candidate_list",
    params(api::CandidateQuery),
    responses((status = 200, body = api::Candidates))
)]
pub(crate) async fn list(
    State(app): State<ServerState>,
    Asked(asked): Asked<api::CandidateQuery>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.memories.candidates(&asked.project_dir, asked.all).await?)
}

/// Keep a candidate: write a memory that quotes it, with its source.
#[utoipa::path(
    post, path = "/v1/candidates/{id}/keep", tag = "memories", operation_id = "candidate_keep",
    params(("id" = uuid::Uuid, Path), Key),
    request_body = api::KeepCandidate,
    responses((status = 201, body = api::MemoryWritten))
)]
pub(crate) async fn keep(Id(id): Id<Uuid>, change: Change) -> Reply {
    let request: api::KeepCandidate = change.sent.json_or_default()?;
    let work = |daemon: bethink_daemon::Daemon| async move {
        daemon.memories.keep_candidate(id, request).await
    };
    change.done_as(StatusCode::CREATED, work).await
}

/// Drop a candidate. What it says is not offered again, in any wording.
#[utoipa::path(
    post, path = "/v1/candidates/{id}/drop", tag = "memories", operation_id = "candidate_drop",
    params(("id" = uuid::Uuid, Path), Key),
    responses((status = 200, body = api::Candidate))
)]
pub(crate) async fn drop(Id(id): Id<Uuid>, change: Change) -> Reply {
    change.done(|daemon| async move { daemon.memories.drop_candidate(id).await }).await
}
