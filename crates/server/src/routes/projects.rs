//! The projects that have sessions.

use axum::extract::State;
use bethink_api::Projects;

use crate::answer::{Answer, Reply};
use crate::app::App;

/// Known projects.
#[utoipa::path(get, path = "/v1/projects", tag = "projects", responses((status = 200, body = Projects)))]
pub(crate) async fn list(State(app): State<App>) -> Reply {
    Answer::ok(&app.daemon.projects().await?)
}
