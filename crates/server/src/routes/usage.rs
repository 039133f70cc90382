//! The model that bethink asks: which, whether it can be asked, what it was asked and what it cost.

use axum::extract::State;
use bethink_api as api;
use bethink_transcript::SessionId;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::query::Asked;

/// Which model is asked for summaries and notes, and whether it can be.
#[utoipa::path(
    get, path = "/v1/model", tag = "models", operation_id = "model_get",
    responses((status = 200, body = api::ModelState))
)]
pub(crate) async fn model(State(app): State<ServerState>) -> Reply {
    HttpAnswer::ok(&app.daemon.models.model_state())
}

/// The ledger of model calls, summed up.
#[utoipa::path(
    get, path = "/v1/usage", tag = "models", operation_id = "usage_get",
    params(api::UsageQuery),
    responses((status = 200, body = api::Usage))
)]
pub(crate) async fn usage(
    State(app): State<ServerState>,
    Asked(asked): Asked<api::UsageQuery>,
) -> Reply {
    let (session, since) = (asked.session.map(SessionId), asked.since.as_deref());
    HttpAnswer::ok(&app.daemon.models.usage(session, since, asked.by.is_some()).await?)
}
