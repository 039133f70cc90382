//! Memory that several people share: where it lies, how it stands, its sync, and what wants to enter it.

use axum::extract::State;
use bethink_api as api;
use http::StatusCode;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::Sent;
use crate::idempotency::once;
use crate::params::{Params, ProposalPath};

/// How a project's team memory stands.
#[utoipa::path(
    get, path = "/v1/team", tag = "team",
    params(
        ("project_dir" = String, Query, description = "Any directory of the project"),
        ("ask" = Option<bool>, Query, description = "`true`: ask the remote whether it answers"),
    ),
    responses((status = 200, body = api::TeamStatus))
)]
pub(crate) async fn status(State(app): State<App>, params: Params) -> Reply {
    let project = params.required("project_dir")?;
    let ask = params.flag("ask")?;
    Answer::ok(&app.daemon.team_status(&project, ask).await?)
}

/// Say where the team's memory lies; with a remote it is a clone of that, kept in step by sync.
#[utoipa::path(
    post, path = "/v1/team/init", tag = "team",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters")),
    request_body = api::TeamInit,
    responses((status = 200, body = api::TeamSync), (status = 502))
)]
pub(crate) async fn init(State(app): State<App>, sent: Sent) -> Reply {
    let request: api::TeamInit = sent.json()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.team_init(request).await?) }).await
}

/// Fetch, merge and push. A topic that both sides changed is kept twice; what holds a secret neither enters
/// nor leaves.
#[utoipa::path(
    post, path = "/v1/team/sync", tag = "team",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters")),
    request_body = api::TeamSyncRequest,
    responses((status = 200, body = api::TeamSync), (status = 502))
)]
pub(crate) async fn sync(State(app): State<App>, sent: Sent) -> Reply {
    let request: api::TeamSyncRequest = sent.json()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move {
        Answer::ok(&daemon.team_sync(&request.project_dir, request.accept_rewrite).await?)
    })
    .await
}

/// What waits for a person, newest first.
#[utoipa::path(
    get, path = "/v1/proposals", tag = "team",
    params(
        ("project_dir" = Option<String>, Query, description = "Of this project alone"),
        ("all" = Option<bool>, Query, description = "`true`: what was decided, too"),
    ),
    responses((status = 200, body = api::Proposals))
)]
pub(crate) async fn proposals(State(app): State<App>, params: Params) -> Reply {
    let all = params.flag("all")?;
    Answer::ok(&app.daemon.proposals(params.text("project_dir").as_deref(), all).await?)
}

/// Propose a topic for the team's memory; it enters when a person approves it.
#[utoipa::path(
    post, path = "/v1/proposals", tag = "team",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters")),
    request_body = api::Propose,
    responses((status = 201, body = api::Decided))
)]
pub(crate) async fn propose(State(app): State<App>, sent: Sent) -> Reply {
    let request: api::Propose = sent.json()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move {
        Answer::with(StatusCode::CREATED, &daemon.propose_memory(request).await?)
    })
    .await
}

/// Let a proposal in, over what it was made against.
#[utoipa::path(
    post, path = "/v1/proposals/{id}/approve", tag = "team",
    params(("id" = uuid::Uuid, Path)),
    request_body = api::Approval,
    responses((status = 200, body = api::Decided), (status = 409))
)]
pub(crate) async fn approve(
    State(app): State<App>,
    ProposalPath(id): ProposalPath,
    sent: Sent,
) -> Reply {
    let request: api::Approval = sent.json_or_default()?;
    let daemon = app.daemon.clone();
    once(
        &app,
        sent.key,
        async move { Answer::ok(&daemon.approve_proposal(id, request.replace).await?) },
    )
    .await
}

/// Turn a proposal down; the same is not proposed again.
#[utoipa::path(
    post, path = "/v1/proposals/{id}/reject", tag = "team",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::Decided))
)]
pub(crate) async fn reject(
    State(app): State<App>,
    ProposalPath(id): ProposalPath,
    sent: Sent,
) -> Reply {
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.reject_proposal(id).await?) }).await
}
