//! The gateway's own errors, in the shape that a client of each provider reads.

use axum::body::Body;
use axum::response::Response;
use bethink_model::{ErrorClass, ModelError};
use bethink_model_http::Provider;
use bethink_service::{ErrorKind, ServiceError};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::json;
use uuid::Uuid;

/// What the official clients ask before they send a request again.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// What clients say to bethink, in headers of ours. Whether the rest is right is for the provider to say.
const OF_OURS: [&str; 3] = ["session", "project_dir", "inject"];

/// Why the gateway answers itself, in a provider's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GatewayFault {
    pub(crate) status: StatusCode,
    /// What OpenAI's clients find in `code`.
    pub(crate) code: &'static str,
    /// What, where, what is allowed, what to do.
    pub(crate) message: String,
    /// Sending it again can only fail again, though the status looks as if it could help.
    pub(crate) in_vain: bool,
}

impl GatewayFault {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), in_vain: false }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    pub(crate) fn in_vain(self) -> Self {
        Self { in_vain: true, ..self }
    }

    /// Sending again does not fix wrong settings.
    pub(crate) fn of_upstream(error: &ModelError) -> Self {
        let message = format!("bethink's gateway got no answer from upstream: {}", error.message);
        let of = |status, code| Self::new(status, code, message.as_str());
        match error.class {
            ErrorClass::TimedOut => of(StatusCode::GATEWAY_TIMEOUT, "upstream_timeout"),
            ErrorClass::Unreachable => of(StatusCode::BAD_GATEWAY, "upstream_unreachable"),
            ErrorClass::Auth => {
                of(StatusCode::INTERNAL_SERVER_ERROR, "upstream_key_unavailable").in_vain()
            }
            ErrorClass::Forbidden => of(StatusCode::BAD_GATEWAY, "upstream_forbidden").in_vain(),
            _ => of(StatusCode::BAD_GATEWAY, "upstream_broken"),
        }
    }

    /// An error of the daemon; `None` if it is not a reason to refuse the client.
    pub(crate) fn of_refusal(refusal: &ServiceError) -> Option<Self> {
        let about_us = || refusal.field.as_deref().is_some_and(|field| OF_OURS.contains(&field));
        let (status, code) = match refusal.kind {
            ErrorKind::Invalid if about_us() => (StatusCode::BAD_REQUEST, "invalid_request"),
            ErrorKind::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            ErrorKind::Conflict => (StatusCode::CONFLICT, "conflict"),
            ErrorKind::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            ErrorKind::ContextOverflow => (StatusCode::BAD_REQUEST, "context_length_exceeded"),
            _ => return None,
        };
        let hint = refusal.hint.as_deref().map_or_else(String::new, |hint| format!(": {hint}"));
        let message = format!("bethink: {}{hint}", refusal.detail);
        // Clients send a request again after 409, and this one stays as it is.
        Some(Self::new(status, code, message).in_vain())
    }

    pub(crate) fn answer(&self, provider: Provider) -> Response {
        let id = format!("req_bethink_{}", Uuid::new_v4().simple());
        let (header, body) = match provider {
            Provider::Anthropic => (
                "request-id",
                json!({
                    "type": "error",
                    "error": {"type": anthropic_type(self.status), "message": self.message},
                    "request_id": id,
                }),
            ),
            Provider::OpenAi => (
                "x-request-id",
                json!({
                    "error": {
                        "message": self.message,
                        "type": openai_type(self.status),
                        "param": null,
                        "code": self.code,
                    },
                }),
            ),
        };
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(id) = HeaderValue::from_str(&id) {
            headers.insert(header, id);
        }
        if self.in_vain {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        response
    }
}

fn anthropic_type(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

fn openai_type(status: StatusCode) -> &'static str {
    if status.is_server_error() { "server_error" } else { "invalid_request_error" }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http_body_util::BodyExt;

    use super::*;

    async fn read(fault: &GatewayFault, provider: Provider) -> (HeaderMap, serde_json::Value) {
        let (parts, body) = fault.answer(provider).into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (parts.headers, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn errors_look_like_the_provider_s() {
        let fault = GatewayFault::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "m").in_vain();
        let (headers, body) = read(&fault, Provider::Anthropic).await;
        assert_eq!(body["type"], "error");
        assert_eq!(body["error"]["type"], "request_too_large");
        assert_eq!(headers["request-id"], body["request_id"].as_str().unwrap());
        assert_eq!(headers["x-should-retry"], "false");
        let (headers, body) = read(&fault, Provider::OpenAi).await;
        assert_eq!(body["error"]["code"], "too_large");
        assert_eq!(body["error"]["type"], "invalid_request_error");
        assert!(headers.contains_key("x-request-id"));
    }

    #[test]
    fn a_full_disk_is_no_reason_to_refuse_nor_is_a_strange_message() {
        let strange = ServiceError::invalid("messages[0].role", "no such role");
        assert_eq!(GatewayFault::of_refusal(&strange), None);
        for kind in [
            ErrorKind::StorageFull,
            ErrorKind::ReadOnly,
            ErrorKind::Internal,
            ErrorKind::ShuttingDown,
        ] {
            assert_eq!(GatewayFault::of_refusal(&ServiceError::new(kind, "x")), None);
        }
        let fault = GatewayFault::of_refusal(&ServiceError::not_found("no such session")).unwrap();
        assert_eq!(fault.status, StatusCode::NOT_FOUND);
    }
}
