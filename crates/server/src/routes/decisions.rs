//! What makes a session's prompts differ from its history.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::params::SessionPath;

/// Recalled memories and other texts that prompts add, and results that they leave out.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/decisions", tag = "context",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::Decisions))
)]
pub(crate) async fn list(State(app): State<App>, SessionPath(id): SessionPath) -> Reply {
    Answer::ok(&app.daemon.decisions(id).await?)
}
