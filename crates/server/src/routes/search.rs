//! Search in history: of a session, of a project.

use axum::extract::State;
use bethink_api as api;
use bethink_daemon::SearchRequest;
use bethink_transcript::SessionId;
use http::StatusCode;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::params::{Params, SessionPath};
use crate::problem::Failure;

/// What is looked up day by day has a bound; beyond it the best hits are read and sifted.
const AFTER: &str = "From this time on, RFC 3339. Of a time of more than 100 days, or one without \
                     `after`, only the best messages are looked through";

/// Search all history of a session, before and after any boundary. Nothing fits, nothing is answered.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/search", tag = "search",
    params(
        ("id" = uuid::Uuid, Path),
        ("q" = String, Query, description = "A question, or words to look for"),
        ("limit" = Option<u64>, Query, description = "At most so many"),
        ("role" = Option<String>, Query, description = "Of the user or the assistant only"),
        ("tool" = Option<String>, Query, description = "Calls of this tool and their results only"),
        ("path" = Option<String>, Query, description = "Calls about this path, or part of one, only"),
        ("after" = Option<String>, Query, description = AFTER),
        ("before" = Option<String>, Query, description = "Before this time, RFC 3339"),
    ),
    responses((status = 200, body = api::SearchHits))
)]
pub(crate) async fn session(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    params: Params,
) -> Reply {
    Answer::ok(&app.daemon.search(id, &request(&params)?).await?)
}

/// The same of all sessions of a project.
#[utoipa::path(
    get, path = "/v1/search", tag = "search",
    params(
        ("project_dir" = String, Query, description = "Whose sessions are searched"),
        ("q" = String, Query, description = "A question, or words to look for"),
        ("limit" = Option<u64>, Query, description = "At most so many"),
        ("role" = Option<String>, Query, description = "Of the user or the assistant only"),
        ("tool" = Option<String>, Query, description = "Calls of this tool and their results only"),
        ("path" = Option<String>, Query, description = "Calls about this path, or part of one, only"),
        ("after" = Option<String>, Query, description = AFTER),
        ("before" = Option<String>, Query, description = "Before this time, RFC 3339"),
    ),
    responses((status = 200, body = api::SearchHits))
)]
pub(crate) async fn project(State(app): State<App>, params: Params) -> Reply {
    let project_dir = params.required("project_dir")?;
    Answer::ok(&app.daemon.search_project(project_dir, &request(&params)?).await?)
}

/// Make the index of a session anew, from its history.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/search/rebuild", tag = "search",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 202, body = api::Job))
)]
pub(crate) async fn rebuild(State(app): State<App>, SessionPath(id): SessionPath) -> Reply {
    let sessions: [SessionId; 1] = [id];
    Answer::with(StatusCode::ACCEPTED, &app.daemon.rebuild_index(&sessions).await?)
}

fn request(params: &Params) -> Result<SearchRequest, Failure> {
    Ok(SearchRequest {
        q: params.required("q")?,
        limit: params.limit()?,
        role: params.text("role"),
        tool: params.text("tool"),
        path: params.text("path"),
        after: params.text("after"),
        before: params.text("before"),
    })
}
