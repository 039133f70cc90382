//! Background jobs.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::path::Id;
use crate::query::Asked;

/// List the newest jobs, including those that the daemon started itself.
#[utoipa::path(
    get, path = "/v1/jobs", tag = "jobs", operation_id = "job_list",
    params(api::LimitQuery),
    responses((status = 200, body = api::Jobs))
)]
pub(crate) async fn list(
    State(app): State<ServerState>,
    Asked(asked): Asked<api::LimitQuery>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.cx.jobs().jobs(asked.limit).await?)
}

/// Get the state, progress and result of a job.
#[utoipa::path(
    get, path = "/v1/jobs/{id}", tag = "jobs", operation_id = "job_get",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::Job))
)]
pub(crate) async fn get(
    State(app): State<ServerState>,
    Id(id): Id<bethink_transcript::JobId>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.cx.jobs().job(id).await?)
}
