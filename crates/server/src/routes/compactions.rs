//! Compactions: make one, list them, undo one, look behind one.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::Sent;
use crate::idempotency::once;
use crate::params::{CompactionPath, Params, SessionPath};

/// Compact now.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/compact", tag = "compactions",
    params(("id" = uuid::Uuid, Path)),
    request_body = Option<api::CompactRequest>,
    responses((status = 200, body = api::Compaction))
)]
pub(crate) async fn compact(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    sent: Sent,
) -> Reply {
    let request = sent.json_or_default()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.compact(id, request).await?) }).await
}

/// All compactions of a session.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/compactions", tag = "compactions",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::Compactions))
)]
pub(crate) async fn list(State(app): State<App>, SessionPath(id): SessionPath) -> Reply {
    Answer::ok(&app.daemon.compactions(id).await?)
}

/// Show again what a compaction took out of the prompt.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/compactions/{cid}/undo", tag = "compactions",
    params(("id" = uuid::Uuid, Path), ("cid" = uuid::Uuid, Path)),
    responses((status = 200, body = api::Compaction))
)]
pub(crate) async fn undo(
    State(app): State<App>,
    CompactionPath(id, compaction): CompactionPath,
    sent: Sent,
) -> Reply {
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.undo(id, compaction).await?) }).await
}

/// The messages behind a summary.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/compactions/{cid}/expand", tag = "compactions",
    params(
        ("id" = uuid::Uuid, Path),
        ("cid" = uuid::Uuid, Path),
        ("q" = Option<String>, Query, description = "A line of the summary; all messages without"),
        ("limit" = Option<u64>, Query, description = "At most so many"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
    ),
    responses((status = 200, body = api::Expanded))
)]
pub(crate) async fn expand(
    State(app): State<App>,
    CompactionPath(id, compaction): CompactionPath,
    params: Params,
) -> Reply {
    let (q, cursor) = (params.text("q"), params.text("cursor"));
    Answer::ok(&app.daemon.expand(id, compaction, q, params.limit()?, cursor).await?)
}
