//! Around every route: what was asked and how long it took; and headers that every answer has.

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::Method;
use http::header::{CACHE_CONTROL, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use tokio::time::Instant;

use crate::problem::HttpFailure;

/// Counts and times a request under its route, never under its path: ids would make every request
/// a series of its own.
pub(crate) async fn observe(request: Request, next: Next) -> Response {
    let route = match request.extensions().get::<MatchedPath>() {
        Some(path) => path.as_str().to_owned(),
        None => "none".to_owned(),
    };
    let method = method_label(request.method());
    let start = Instant::now();
    let response = next.run(request).await;
    let status = response.status();
    let seconds = start.elapsed().as_secs_f64();
    tracing::debug!(method, route, status = status.as_u16(), seconds, "answered");
    metrics::histogram!("bethink_http_request_seconds", "method" => method, "route" => route.clone())
        .record(seconds);
    metrics::counter!(
        "bethink_http_requests_total",
        "method" => method,
        "route" => route,
        "status" => status.as_str().to_owned()
    )
    .increment(1);
    response
}

/// Answers tell of private sessions: nothing on the way sniffs them, or keeps them unless a route says so.
pub(crate) async fn dress(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A handler that panicked answers as any other fault of ours.
#[allow(clippy::needless_pass_by_value, reason = "the signature of the layer")]
pub(crate) fn panicked(cause: Box<dyn std::any::Any + Send>) -> Response {
    let text = cause
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| cause.downcast_ref::<&str>().copied())
        .unwrap_or("a handler panicked");
    HttpFailure::internal(&text).into_response()
}

/// A client may invent methods; series are made for the known ones only.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
