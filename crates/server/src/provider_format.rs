//! Translates errors of the guard and the router for gateway clients, which only understand their provider's format.

use std::sync::Arc;

use axum::Json;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bethink_api::{Problem, anthropic_error, gemini_error, openai_error};
use http::StatusCode;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};

use crate::gateway_path::GatewayClient;

/// The header that tells the providers' official clients whether to retry.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Translates problem documents on the gateway's paths into the provider's format. Without this translation, an agent
/// with an outdated address would retry for minutes and show nothing.
pub(crate) async fn translate_problems(request: Request, next: Next) -> Response {
    let client = GatewayClient::of(request.uri().path());
    let response = next.run(request).await;
    match client.zip(response.extensions().get::<Arc<Problem>>().cloned()) {
        Some((client, problem)) => translated(client, &problem, &response),
        None => response,
    }
}

fn translated(client: GatewayClient, problem: &Problem, response: &Response) -> Response {
    let hint = problem.hint.as_ref().map_or_else(String::new, |hint| format!("; {hint}"));
    let message = format!("bethink's gateway: {}{hint}", problem.detail);
    let body = match client {
        GatewayClient::Anthropic => anthropic_error(problem.status, &message),
        GatewayClient::OpenAi => openai_error(problem.status, &message, &problem.kind),
        GatewayClient::Gemini => gemini_error(problem.status, &message),
    };
    let status = response.status();
    let mut headers = response.headers().clone();
    headers.remove(CONTENT_TYPE);
    headers.remove(CONTENT_LENGTH);
    if status != StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    (status, headers, Json(body)).into_response()
}
