//! Recall: which memories of a project help with something.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::Sent;

/// Memories that help with something, the best first; none where nothing fits.
#[utoipa::path(
    post, path = "/v1/recall", tag = "memories",
    request_body = api::RecallRequest,
    responses((status = 200, body = api::RecallAnswer))
)]
pub(crate) async fn recall(State(app): State<App>, sent: Sent) -> Reply {
    Answer::ok(&app.daemon.recall(sent.json()?).await?)
}
