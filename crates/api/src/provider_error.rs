//! Errors in the formats of the gateway's providers, which their clients can read.

use serde_json::{Value, json};

/// Returns an error in the format of the Messages API.
pub fn anthropic_error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

/// Returns an error in OpenAI's format.
pub fn openai_error(status: u16, message: &str, code: &str) -> Value {
    let kind = if status >= 500 { "server_error" } else { "invalid_request_error" };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

/// Returns an error in the format of Google's APIs.
pub fn gemini_error(status: u16, message: &str) -> Value {
    let name = match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        504 => "DEADLINE_EXCEEDED",
        502 | 503 => "UNAVAILABLE",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    };
    json!({ "error": { "code": status, "message": message, "status": name } })
}
