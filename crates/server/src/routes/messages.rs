//! The history of a session: append, read.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::Sent;
use crate::idempotency::to_the_end;
use crate::params::{Params, SessionPath};

/// Append messages; durable when answered. A message id met before is not appended again.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/messages", tag = "messages",
    params(("id" = uuid::Uuid, Path)),
    request_body = api::AppendRequest,
    responses((status = 200, body = api::Appended))
)]
pub(crate) async fn append(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    sent: Sent,
) -> Reply {
    let body = sent.text()?;
    let daemon = app.daemon.clone();
    to_the_end(&app, async move { Answer::ok(&daemon.append(id, body, sent.key).await?) }).await
}

/// Raw history, untouched by any compaction.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/messages", tag = "messages",
    params(
        ("id" = uuid::Uuid, Path),
        ("after_seq" = Option<u64>, Query, description = "Messages after this position"),
        ("before_seq" = Option<u64>, Query, description = "Messages before this position"),
        ("limit" = Option<u64>, Query, description = "At most so many"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
    ),
    responses((status = 200, body = api::MessagesPage))
)]
pub(crate) async fn list(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    params: Params,
) -> Reply {
    // The cursor of history is the position of the last message of the page.
    let after = params.seq("cursor")?.or(params.seq("after_seq")?);
    let before = params.seq("before_seq")?;
    Answer::ok(&app.daemon.messages(id, after, before, params.limit()?).await?)
}
