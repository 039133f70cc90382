//! The model that bethink calls for its own purposes, and what it costs.

use axum::extract::State;
use bethink_api as api;
use bethink_transcript::SessionId;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::query::Asked;

/// Get the model that bethink calls for its own purposes, and whether it can be called.
#[utoipa::path(
    get, path = "/v1/model", tag = "models", operation_id = "model_get",
    responses((status = 200, body = api::ModelState))
)]
pub(crate) async fn model(State(app): State<ServerState>) -> Reply {
    HttpAnswer::ok(&app.daemon.models.model_state())
}

/// Sum up the ledger of bethink's own model calls.
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
