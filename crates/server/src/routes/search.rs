//! Searches the history of a session or a project.

use axum::extract::State;
use bethink_api as api;
use bethink_transcript::SessionId;
use http::StatusCode;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::path::{Id, SessionPath};
use crate::query::Asked;

/// Search the whole history of a session, including compacted messages.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/search", tag = "search", operation_id = "session_search",
    params(("id" = uuid::Uuid, Path), api::SearchQuery),
    responses((status = 200, body = api::SearchHits))
)]
pub(crate) async fn session(
    State(app): State<ServerState>,
    Id(id): SessionPath,
    Asked(query): Asked<api::SearchQuery>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.search.search(id, &query).await?)
}

/// Search the history of all sessions, or of one project's sessions.
#[utoipa::path(
    get, path = "/v1/search", tag = "search", operation_id = "project_search",
    params(
        ("project_dir" = Option<String>, Query, description = "Absolute path of a directory. Only sessions of its project: all worktrees of the repository, their subdirectories, and clones on other machines; default: all projects"),
        api::SearchQuery,
    ),
    responses((status = 200, body = api::SearchHits))
)]
pub(crate) async fn project(
    State(app): State<ServerState>,
    Asked(project): Asked<api::OptionalProjectQuery>,
    Asked(query): Asked<api::SearchQuery>,
) -> Reply {
    let location = match project.project_dir {
        Some(dir) => Some(app.daemon.sessions.location_of(dir).await?),
        None => None,
    };
    HttpAnswer::ok(&app.daemon.search.search_sessions(location, &query).await?)
}

/// Rebuild the search index of a session from its history.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/search/rebuild", tag = "search", operation_id = "search_rebuild",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 202, body = api::Job))
)]
pub(crate) async fn rebuild(State(app): State<ServerState>, Id(id): SessionPath) -> Reply {
    let sessions: [SessionId; 1] = [id];
    HttpAnswer::with(StatusCode::ACCEPTED, &app.daemon.search.rebuild_index(&sessions).await?)
}
