//! The notes of a session, as a Markdown file.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bethink_api as api;
use bethink_notes::{MAX_NOTES_BYTES, NotesFile};
use http::header::{CONTENT_TYPE, IF_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::answer::Reply;
use crate::app::ServerState;
use crate::change::Change;
use crate::markdown;
use crate::openapi::Key;
use crate::path::{Id, SessionPath};
use crate::problem::HttpFailure;

/// The header with the newest message that the notes cover.
const THROUGH: HeaderName = HeaderName::from_static("bethink-notes-through");
/// The header that says what is wrong with the user's template or instruction.
const FAULT: HeaderName = HeaderName::from_static("bethink-notes-fault");

const SHORTER_NOTES: &str = "shorten the notes; prompts include only a small part of them";

/// Get the notes, or the empty template if there are none yet.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/notes", tag = "notes", operation_id = "notes_get",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The notes file", body = String, content_type = "text/markdown"))
)]
pub(crate) async fn get(
    State(app): State<ServerState>,
    Id(id): SessionPath,
) -> Result<Response, HttpFailure> {
    let notes = app.daemon.notes.notes(id).await?;
    Ok((headers(&notes), notes.text).into_response())
}

/// Replace the notes. Later updates keep this text. With `If-Match`, the request fails with 412 if the notes have
/// changed.
#[utoipa::path(
    put, path = "/v1/sessions/{id}/notes", tag = "notes", operation_id = "notes_put",
    params(("id" = uuid::Uuid, Path), ("If-Match" = Option<String>, Header)),
    request_body(content = String, content_type = "text/markdown"),
    responses((status = 204, description = "The notes were replaced"))
)]
pub(crate) async fn put(
    State(app): State<ServerState>,
    Id(id): SessionPath,
    request: Request,
) -> Result<Response, HttpFailure> {
    let (parts, body) = request.into_parts();
    let if_match = match parts.headers.get(IF_MATCH).map(HeaderValue::to_str) {
        None => None,
        Some(Ok(tag)) => Some(tag.to_owned()),
        Some(Err(_)) => {
            return Err(HttpFailure::field("If-Match", "not a valid notes ETag: ETags are ASCII"));
        }
    };
    let text = markdown::text(body, &parts, MAX_NOTES_BYTES, SHORTER_NOTES).await?;
    let daemon = app.daemon.clone();
    let work = async move { daemon.notes.put_notes(id, text, if_match).await };
    let mut headers = headers(&markdown::written(&app, work).await?);
    headers.remove(CONTENT_TYPE);
    Ok((StatusCode::NO_CONTENT, headers).into_response())
}

/// Update the notes now.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/notes/update", tag = "notes", operation_id = "notes_update",
    params(("id" = uuid::Uuid, Path), Key),
    responses((status = 200, body = api::NotesUpdate))
)]
pub(crate) async fn update(Id(id): SessionPath, change: Change) -> Reply {
    change.done(|daemon| async move { daemon.notes.update_notes(id).await }).await
}

fn headers(notes: &NotesFile) -> HeaderMap {
    let mut headers = markdown::headers(&notes.etag);
    headers.insert(THROUGH, HeaderValue::from(notes.through));
    for fault in &notes.faults {
        // A header may only contain visible ASCII; a path may contain more.
        let plain: String =
            fault.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
        if let Ok(value) = HeaderValue::from_str(&plain) {
            headers.append(FAULT, value);
        }
    }
    headers
}
