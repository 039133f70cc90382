//! Markdown bodies: notes and topics.

use axum::body::Body;
use bethink_service::ServiceError;
use http::HeaderMap;
use http::header::{CONTENT_TYPE, ETAG, HeaderValue};
use http::request::Parts;

use crate::app::ServerState;
use crate::body::read;
use crate::problem::{HttpFailure, ProblemSort};

const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// Reads a body of text with at most `limit` bytes. JSON and forms are refused. `smaller` is the hint for a larger
/// text.
pub(crate) async fn text(
    body: Body,
    parts: &Parts,
    limit: u64,
    smaller: &'static str,
) -> Result<String, HttpFailure> {
    if let Some(value) = parts.headers.get(CONTENT_TYPE) {
        let kind = value.to_str().unwrap_or("unreadable").trim().to_ascii_lowercase();
        if !kind.starts_with("text/") {
            let detail = format!("the content type is {kind:?}; this route accepts text/markdown");
            return Err(HttpFailure::new(ProblemSort::UnsupportedMediaType, detail));
        }
    }
    let body = read(body, parts, limit, smaller).await?;
    String::from_utf8(body.bytes.into()).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        HttpFailure::new(
            ProblemSort::InvalidUtf8,
            format!("the body is not valid UTF-8 at byte offset {at}"),
        )
    })
}

/// Returns the headers of a Markdown response with this ETag.
pub(crate) fn headers(etag: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MARKDOWN));
    headers.extend(HeaderValue::from_str(etag).map(|tag| (ETAG, tag)));
    headers
}

/// Runs `work` to completion even if the client disconnects, so that no edit is left incomplete.
pub(crate) async fn written<T: Send + 'static>(
    app: &ServerState,
    work: impl Future<Output = Result<T, ServiceError>> + Send + 'static,
) -> Result<T, HttpFailure> {
    Ok(app.tasks.spawn(work).await.map_err(|error| HttpFailure::internal(&error))??)
}
