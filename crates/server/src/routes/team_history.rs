//! History that people share with their team: what this person shares, who may read it, and what the team shares.

use axum::extract::State;
use bethink_api as api;
use bethink_daemon::Daemon;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::change::Change;
use crate::openapi::Key;
use crate::path::{Id, SessionPath};
use crate::query::Asked;

/// Get which history is shared with the team, and the team projects.
#[utoipa::path(
    get, path = "/v1/team/history", tag = "team", operation_id = "team_history_get",
    responses((status = 200, body = api::TeamHistory))
)]
pub(crate) async fn status(State(app): State<ServerState>) -> Reply {
    HttpAnswer::ok(&app.daemon.team_history.status().await?)
}

/// Share the sessions of a project directory with the team. Copies are made in the background, by default without the secrets that bethink finds.
#[utoipa::path(
    post, path = "/v1/team/history", tag = "team", operation_id = "team_history_share",
    params(Key),
    request_body = api::ShareHistory,
    responses((status = 200, body = api::TeamHistory))
)]
pub(crate) async fn share(change: Change) -> Reply {
    let request = change.sent.json()?;
    change.done(|daemon| async move { daemon.team_history.share(request).await }).await
}

/// Stop sharing the sessions of a project directory, and remove the copies.
#[utoipa::path(
    delete, path = "/v1/team/history", tag = "team", operation_id = "team_history_unshare",
    params(
        ("project_dir" = String, Query, description = "The directory, as `GET /v1/team/history` lists it"),
        Key,
    ),
    responses((status = 200, body = api::HistoryUnshared))
)]
pub(crate) async fn unshare(Asked(asked): Asked<api::ProjectQuery>, change: Change) -> Reply {
    let work =
        |daemon: Daemon| async move { daemon.team_history.unshare(&asked.project_dir).await };
    change.done(work).await
}

/// Set the role of a person in a team project, or remove the person. Only an admin of the project may do that.
#[utoipa::path(
    put, path = "/v1/team/history/members", tag = "team", operation_id = "team_history_member",
    params(Key),
    request_body = api::SetTeamMember,
    responses((status = 200, body = api::TeamHistory))
)]
pub(crate) async fn set_member(change: Change) -> Reply {
    let request = change.sent.json()?;
    change.done(|daemon| async move { daemon.team_history.set_member(request).await }).await
}

/// Search what people share with the team: who has solved this before?
#[utoipa::path(
    get, path = "/v1/team/history/search", tag = "team", operation_id = "team_history_search",
    params(api::TeamHistoryScope, api::SearchQuery),
    responses((status = 200, body = api::SearchHits))
)]
pub(crate) async fn search(
    State(app): State<ServerState>,
    Asked(scope): Asked<api::TeamHistoryScope>,
    Asked(query): Asked<api::SearchQuery>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.search.search_team(scope, &query).await?)
}

/// List shared sessions, newest first.
#[utoipa::path(
    get, path = "/v1/team/history/sessions", tag = "team", operation_id = "team_history_sessions",
    params(api::TeamHistoryScope, api::PageQuery),
    responses((status = 200, body = api::TeamSessionsPage))
)]
pub(crate) async fn sessions(
    State(app): State<ServerState>,
    Asked(scope): Asked<api::TeamHistoryScope>,
    Asked(page): Asked<api::PageQuery>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.team_history.sessions(scope, page).await?)
}

/// Get a shared session.
#[utoipa::path(
    get, path = "/v1/team/history/sessions/{id}", tag = "team", operation_id = "team_history_session",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::TeamSession))
)]
pub(crate) async fn session(State(app): State<ServerState>, Id(id): SessionPath) -> Reply {
    HttpAnswer::ok(&app.daemon.team_history.session(id).await?)
}

/// Get the messages of a shared session, without thinking and images, and by default without the secrets that bethink finds.
#[utoipa::path(
    get, path = "/v1/team/history/sessions/{id}/messages", tag = "team", operation_id = "team_history_messages",
    params(("id" = uuid::Uuid, Path), api::MessageQuery),
    responses((status = 200, body = api::MessagesPage))
)]
pub(crate) async fn messages(
    State(app): State<ServerState>,
    Id(id): SessionPath,
    Asked(asked): Asked<api::MessageQuery>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.team_history.messages(id, &asked).await?)
}

/// Remove a shared session from the team's history. You can remove your own sessions, and share them again later. An admin of the
/// project can remove anybody's; those can never be shared again.
#[utoipa::path(
    delete, path = "/v1/team/history/sessions/{id}", tag = "team", operation_id = "team_history_remove",
    params(("id" = uuid::Uuid, Path), Key),
    responses((status = 204, description = "The session was removed"))
)]
pub(crate) async fn remove(Id(id): SessionPath, change: Change) -> Reply {
    let work = |daemon: Daemon| async move {
        daemon.team_history.remove_session(id).await?;
        Ok(HttpAnswer::nothing())
    };
    change.answered(work).await
}

/// Share a session of a shared project directory, even if it began before the directory was shared, or stop sharing it and remove
/// the copy.
#[utoipa::path(
    put, path = "/v1/sessions/{id}/sharing", tag = "team", operation_id = "session_share",
    params(("id" = uuid::Uuid, Path), Key),
    request_body = api::ShareSession,
    responses((status = 200, body = api::Session))
)]
pub(crate) async fn share_session(Id(id): SessionPath, change: Change) -> Reply {
    let request = change.sent.json()?;
    let work = |daemon: Daemon| async move {
        daemon.team_history.share_session(id, request).await?;
        let mut session = daemon.sessions.session(id).await?;
        daemon.team_history.mark_shared(std::slice::from_mut(&mut session)).await?;
        Ok(session)
    };
    change.done(work).await
}
