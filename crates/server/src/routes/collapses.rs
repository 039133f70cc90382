//! Collapsed spans: list them, look behind one.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::params::{CollapsePath, Params, SessionPath};

/// All spans of a session that have a short text, staged and committed.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/collapses", tag = "collapses",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::Collapses))
)]
pub(crate) async fn list(State(app): State<App>, SessionPath(id): SessionPath) -> Reply {
    Answer::ok(&app.daemon.collapses(id).await?)
}

/// The messages behind a span's text.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/collapses/{cid}/expand", tag = "collapses",
    params(
        ("id" = uuid::Uuid, Path),
        ("cid" = uuid::Uuid, Path),
        ("q" = Option<String>, Query, description = "A line of the text; all messages without"),
        ("limit" = Option<u64>, Query, description = "At most so many"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
    ),
    responses((status = 200, body = api::Expanded))
)]
pub(crate) async fn expand(
    State(app): State<App>,
    CollapsePath(id, collapse): CollapsePath,
    params: Params,
) -> Reply {
    let (q, cursor) = (params.text("q"), params.text("cursor"));
    Answer::ok(&app.daemon.expand_collapse(id, collapse, q, params.limit()?, cursor).await?)
}
