//! Middleware for every route: request metrics, and response headers.

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::Method;
use http::header::{CACHE_CONTROL, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use tokio::time::Instant;

use crate::problem::HttpFailure;

/// Counts and times requests by route. Paths contain IDs, so counting by path would create a series for nearly every
/// request.
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

/// Adds headers that forbid content sniffing, and caching unless a route allows it: answers contain private sessions.
pub(crate) async fn add_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Returns the answer to a request whose handler panicked, like that to any other internal error.
#[allow(clippy::needless_pass_by_value, reason = "the signature of the layer")]
pub(crate) fn panicked(cause: Box<dyn std::any::Any + Send>) -> Response {
    let text = cause
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| cause.downcast_ref::<&str>().copied())
        .unwrap_or("a handler panicked");
    HttpFailure::internal(&text).into_response()
}

/// Returns the label of a method. Clients can send any word as the method, so all unknown methods share a series.
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
