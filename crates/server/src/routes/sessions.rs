//! Sessions: create, list, get, change, fork, delete; and the projects that have sessions.

use axum::extract::State;
use bethink_api as api;
use bethink_daemon::Daemon;
use http::StatusCode;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::body::Sent;
use crate::change::Change;
use crate::idempotency::to_the_end;
use crate::openapi::Key;
use crate::path::{Id, SessionPath};
use crate::query::Asked;

/// Create a session.
#[utoipa::path(
    post, path = "/v1/sessions", tag = "sessions", operation_id = "session_create",
    params(Key),
    request_body = api::CreateSession,
    responses((status = 201, body = api::Session))
)]
pub(crate) async fn create(State(app): State<ServerState>, sent: Sent) -> Reply {
    let request = sent.json()?;
    let daemon = app.daemon.clone();
    to_the_end(&app, async move {
        HttpAnswer::with(
            StatusCode::CREATED,
            &daemon.sessions.create_session(request, sent.key).await?,
        )
    })
    .await
}

/// List sessions, newest first.
#[utoipa::path(
    get, path = "/v1/sessions", tag = "sessions", operation_id = "session_list",
    params(api::SessionQuery),
    responses((status = 200, body = api::SessionsPage))
)]
pub(crate) async fn list(
    State(app): State<ServerState>,
    Asked(asked): Asked<api::SessionQuery>,
) -> Reply {
    let mut page = app.daemon.sessions.sessions(asked).await?;
    app.daemon.team_history.mark_shared(&mut page.sessions).await?;
    HttpAnswer::ok(&page)
}

/// Get a session.
#[utoipa::path(
    get, path = "/v1/sessions/{id}", tag = "sessions", operation_id = "session_get",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::Session))
)]
pub(crate) async fn get(State(app): State<ServerState>, Id(id): SessionPath) -> Reply {
    let mut session = app.daemon.sessions.session(id).await?;
    app.daemon.team_history.mark_shared(std::slice::from_mut(&mut session)).await?;
    HttpAnswer::ok(&session)
}

/// Change the title, tags or model of a session. Absent fields are not changed.
#[utoipa::path(
    patch, path = "/v1/sessions/{id}", tag = "sessions", operation_id = "session_update",
    params(("id" = uuid::Uuid, Path), Key),
    request_body = api::PatchSession,
    responses((status = 200, body = api::Session))
)]
pub(crate) async fn patch(Id(id): SessionPath, change: Change) -> Reply {
    let request = change.sent.json_or_default()?;
    change.done(|daemon| async move { daemon.sessions.patch_session(id, request).await }).await
}

/// Delete a session with its history.
#[utoipa::path(
    delete, path = "/v1/sessions/{id}", tag = "sessions", operation_id = "session_delete",
    params(("id" = uuid::Uuid, Path), Key),
    responses((status = 204, description = "The session was deleted"))
)]
pub(crate) async fn delete(Id(id): SessionPath, change: Change) -> Reply {
    let work = |daemon: Daemon| async move {
        daemon.sessions.delete_session(id).await?;
        Ok(HttpAnswer::nothing())
    };
    change.answered(work).await
}

/// Fork a session: create one that shares its history up to a message.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/fork", tag = "sessions", operation_id = "session_fork",
    params(("id" = uuid::Uuid, Path), Key),
    request_body = Option<api::ForkRequest>,
    responses((status = 201, body = api::Session))
)]
pub(crate) async fn fork(Id(id): SessionPath, change: Change) -> Reply {
    let request = change.sent.json_or_default()?;
    let key = change.sent.key.clone();
    let work = |daemon: Daemon| async move { daemon.sessions.fork(id, request, key).await };
    change.done_as(StatusCode::CREATED, work).await
}

/// End an exploration: only its summary is added to the session's parent.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/conclude", tag = "sessions", operation_id = "session_conclude",
    params(("id" = uuid::Uuid, Path), Key),
    request_body = Option<api::ConcludeRequest>,
    responses((status = 200, body = api::Concluded))
)]
pub(crate) async fn conclude(Id(id): SessionPath, change: Change) -> Reply {
    let request = change.sent.json_or_default()?;
    change.done(|daemon| async move { daemon.sessions.conclude(id, request).await }).await
}

/// List the directories that have sessions, and then the projects that only have memories.
#[utoipa::path(
    get, path = "/v1/projects", tag = "projects", operation_id = "project_list",
    responses((status = 200, body = api::Projects))
)]
pub(crate) async fn projects(State(app): State<ServerState>) -> Reply {
    let mut listed = app.daemon.sessions.projects().await?;
    let known = listed.projects.iter().map(|project| project.project_dir.clone()).collect();
    let others = app.daemon.memories.projects_except(known).await?.into_iter();
    listed.projects.extend(others.map(|project_dir| api::Project { project_dir, sessions: 0 }));
    HttpAnswer::ok(&listed)
}
