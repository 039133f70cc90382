//! Background work that a request started.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::params::{JobPath, Params};

/// The newest jobs: those that a request started, and the daemon's own.
#[utoipa::path(
    get, path = "/v1/jobs", tag = "jobs",
    params(("limit" = Option<u64>, Query, description = "At most so many")),
    responses((status = 200, body = api::Jobs))
)]
pub(crate) async fn list(State(app): State<App>, params: Params) -> Reply {
    Answer::ok(&app.daemon.jobs(params.limit()?).await?)
}

/// State, progress and result of a job.
#[utoipa::path(
    get, path = "/v1/jobs/{id}", tag = "jobs",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::Job))
)]
pub(crate) async fn get(State(app): State<App>, JobPath(id): JobPath) -> Reply {
    Answer::ok(&app.daemon.job(id).await?)
}
