//! The projects that have sessions.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::{Answer, Reply};
use crate::app::App;

/// `GET /v1/projects`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Projects {
    projects: Vec<Project>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Project {
    project_dir: String,
    sessions: u64,
}

/// Known projects.
#[utoipa::path(get, path = "/v1/projects", tag = "projects", responses((status = 200, body = Projects)))]
pub(crate) async fn list(State(app): State<App>) -> Reply {
    let projects = app.daemon.projects().await?;
    let projects = projects
        .into_iter()
        .map(|(project_dir, sessions)| Project { project_dir, sessions })
        .collect();
    Answer::ok(&Projects { projects })
}
