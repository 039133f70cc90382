//! The history of a session: append, read.

use axum::extract::State;
use bethink_api as api;
use bethink_service::ErrorKind;
use bethink_transcript::Seq;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::body::{UncheckedBody, check_object};
use crate::idempotency::to_the_end;
use crate::openapi::Key;
use crate::path::{Id, SessionPath};
use crate::query::Asked;

/// Positions are stored as signed 64-bit integers.
const MAX_SEQ: u64 = i64::MAX as u64;

/// Append messages. They are on disk when the request is answered. A message that the session already has, with its
/// ID, is not appended again. Another message with the same ID is refused.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/messages", tag = "messages", operation_id = "message_append",
    params(("id" = uuid::Uuid, Path), Key),
    request_body = api::AppendRequest,
    responses((status = 200, body = api::Appended))
)]
pub(crate) async fn append(
    State(app): State<ServerState>,
    Id(id): SessionPath,
    UncheckedBody { key, body, room }: UncheckedBody,
) -> Reply {
    let (sessions, depth) = (app.daemon.sessions.clone(), app.limits.depth);
    let appending = async move {
        let appended = sessions.append(id, body.clone(), key).await;
        if appended.as_ref().is_err_and(|refusal| refusal.kind == ErrorKind::Invalid) {
            // An error in the JSON text is reported before an error in the messages.
            check_object(&body, depth)?;
        }
        HttpAnswer::ok(&appended?)
    };
    if !room.is_taken() {
        return appending.await;
    }
    // The append goes on if the client disconnects, so its body still counts against the limit.
    let holding = async move {
        let answer = appending.await;
        drop(room);
        answer
    };
    to_the_end(&app, holding).await
}

/// Get the history as it was appended. Compactions do not change it.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/messages", tag = "messages", operation_id = "message_list",
    params(("id" = uuid::Uuid, Path), api::MessageQuery),
    responses((status = 200, body = api::MessagesPage))
)]
pub(crate) async fn list(
    State(app): State<ServerState>,
    Id(id): SessionPath,
    Asked(asked): Asked<api::MessageQuery>,
) -> Reply {
    let seq = |seq: Option<u64>| seq.map(|seq| seq.min(MAX_SEQ));
    // The cursor is the position of the last message of the page.
    let after = seq(asked.cursor.or(asked.after_seq));
    let before = seq(asked.before_seq);
    HttpAnswer::ok(&app.daemon.sessions.messages(id, after, before, asked.limit).await?)
}

/// Get an outline of the history: for each message, its author, its tool calls and what failed, but not its text.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/outline", tag = "messages", operation_id = "message_outline",
    params(("id" = uuid::Uuid, Path), api::OutlineQuery),
    responses((status = 200, body = api::Outline))
)]
pub(crate) async fn outline(
    State(app): State<ServerState>,
    Id(id): SessionPath,
    Asked(asked): Asked<api::OutlineQuery>,
) -> Reply {
    let after = Seq(asked.after_seq.unwrap_or(0).min(MAX_SEQ));
    HttpAnswer::ok(&app.daemon.sessions.outline(id, after).await?)
}

/// Get a part of a message's text, such as the lines of a large tool result that a prompt shows as a preview.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/text", tag = "messages", operation_id = "message_text",
    params(("id" = uuid::Uuid, Path), api::TextQuery),
    responses((status = 200, body = api::MessageText))
)]
pub(crate) async fn text(
    State(app): State<ServerState>,
    Id(id): SessionPath,
    Asked(asked): Asked<api::TextQuery>,
) -> Reply {
    let asked = api::TextQuery { seq: asked.seq.min(MAX_SEQ), ..asked };
    HttpAnswer::ok(&app.daemon.sessions.message_text(id, &asked).await?)
}
