//! The model that bethink asks: which, whether it can be asked, what it was asked and what it cost.

use axum::extract::State;
use bethink_api as api;
use bethink_transcript::SessionId;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::params::Params;
use crate::problem::Failure;

/// Which model is asked for summaries and notes, and whether it can be.
#[utoipa::path(get, path = "/v1/model", tag = "models", responses((status = 200, body = api::ModelState)))]
pub(crate) async fn model(State(app): State<App>) -> Reply {
    Answer::ok(&app.daemon.model_state())
}

/// The ledger of model calls, summed up.
#[utoipa::path(
    get, path = "/v1/usage", tag = "models",
    params(
        ("session" = Option<uuid::Uuid>, Query, description = "Of this session only"),
        ("since" = Option<String>, Query, description = "From this time on: RFC 3339, or a day"),
        ("by" = Option<String>, Query, description = "`session`: the sums of each session apart"),
    ),
    responses((status = 200, body = api::Usage))
)]
pub(crate) async fn usage(State(app): State<App>, params: Params) -> Reply {
    let session = params.id("session")?.map(SessionId);
    let by_session = match params.text("by").as_deref() {
        None => false,
        Some("session") => true,
        Some(_) => return Err(Failure::field("by", "`by` can only be `session`")),
    };
    Answer::ok(&app.daemon.usage(session, params.text("since").as_deref(), by_session).await?)
}
