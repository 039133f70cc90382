//! Notes of a session, as the Markdown file that they are.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bethink_api as api;
use bethink_daemon::{MAX_NOTES_BYTES, NotesFile};
use http::header::{CONTENT_TYPE, ETAG, IF_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::{Sent, read};
use crate::idempotency::once;
use crate::params::SessionPath;
use crate::problem::{Failure, Sort};

const MARKDOWN: &str = "text/markdown; charset=utf-8";
/// Newest message that the daemon's own lines cover.
const THROUGH: HeaderName = HeaderName::from_static("bethink-notes-through");
/// What of a person's template or instruction is broken.
const FAULT: HeaderName = HeaderName::from_static("bethink-notes-fault");

const SHORTER_NOTES: &str = "shorten the notes: a prompt takes a small part of them anyway";

/// The notes; the bare template before anything was noted.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/notes", tag = "notes",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = String, content_type = "text/markdown"))
)]
pub(crate) async fn get(
    State(app): State<App>,
    SessionPath(id): SessionPath,
) -> Result<Response, Failure> {
    let notes = app.daemon.notes(id).await?;
    let headers = headers(&notes);
    Ok((headers, Body::from(notes.text)).into_response())
}

/// Replace the notes by a person's text, which later updates respect. With `If-Match` only if they are
/// still those that were read.
#[utoipa::path(
    put, path = "/v1/sessions/{id}/notes", tag = "notes",
    params(("id" = uuid::Uuid, Path), ("If-Match" = Option<String>, Header)),
    request_body(content = String, content_type = "text/markdown"),
    responses((status = 204), (status = 412))
)]
pub(crate) async fn put(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    request: Request,
) -> Result<Response, Failure> {
    let (parts, body) = request.into_parts();
    check_media_type(&parts.headers)?;
    let if_match = if_match(&parts.headers)?;
    let body = read(body, &parts.headers, MAX_NOTES_BYTES, SHORTER_NOTES).await?;
    let text = String::from_utf8(body.into()).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(Sort::InvalidUtf8, format!("the byte at offset {at} of the body is not UTF-8"))
    })?;
    let daemon = app.daemon.clone();
    // To its end even when the client hangs up: half an edit is none.
    let work = async move { daemon.put_notes(id, text, if_match).await };
    let put = app.tasks.spawn(work).await.map_err(|error| Failure::internal(&error))??;
    let mut headers = headers(&put);
    headers.remove(CONTENT_TYPE);
    Ok((StatusCode::NO_CONTENT, headers).into_response())
}

/// Bring the notes up to date now, whatever the gate says.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/notes/update", tag = "notes",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::NotesUpdate))
)]
pub(crate) async fn update(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    sent: Sent,
) -> Reply {
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.update_notes(id).await?) }).await
}

fn headers(notes: &NotesFile) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MARKDOWN));
    headers.insert(THROUGH, HeaderValue::from(notes.through));
    if let Ok(etag) = HeaderValue::from_str(&notes.etag) {
        headers.insert(ETAG, etag);
    }
    for fault in &notes.faults {
        // A header holds visible ASCII; a path may hold more.
        let plain: String =
            fault.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
        if let Ok(value) = HeaderValue::from_str(&plain) {
            headers.append(FAULT, value);
        }
    }
    headers
}

fn if_match(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let Some(value) = headers.get(IF_MATCH) else { return Ok(None) };
    match value.to_str() {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => Err(Failure::field("If-Match", "not the tag of any notes; tags are ASCII")),
    }
}

/// Any text; JSON or a form is a mistake.
fn check_media_type(headers: &HeaderMap) -> Result<(), Failure> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let kind = value.to_str().unwrap_or("unreadable").trim().to_ascii_lowercase();
    if kind.starts_with("text/") {
        return Ok(());
    }
    let detail = format!("the body is {kind:?}; this route takes text/markdown");
    Err(Failure::new(Sort::UnsupportedMediaType, detail))
}
