//! The gateway's own errors, in the format of each provider.

use axum::body::Body;
use axum::response::Response;
use bethink_api::{anthropic_error, gemini_error, openai_error};
use bethink_model::{ErrorClass, ModelError};
use bethink_model_http::Provider;
use bethink_service::{ErrorKind, ServiceError};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use uuid::Uuid;

/// The response header that tells the official clients whether to retry.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Fields that come from bethink's own headers. The provider checks all other fields.
const OWN_FIELDS: [&str; 3] = ["session", "project_dir", "inject"];

/// An error that the gateway returns itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GatewayFault {
    pub(crate) status: StatusCode,
    /// The `code` in OpenAI's error format.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Whether to tell the client not to retry, although the status suggests a retry.
    pub(crate) no_retry: bool,
}

impl GatewayFault {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), no_retry: false }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// Returns the error for a large request that does not fit into memory at the moment. The client may send it again.
    pub(crate) fn busy() -> Self {
        let what = bethink_intake::Unread::Busy.to_string();
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", what)
    }

    /// Returns the error for a client that opens a WebSocket. Clients that get this status send their requests over
    /// HTTP instead.
    pub(crate) fn only_http() -> Self {
        let what = "bethink's gateway does not support WebSockets: send each request to this URL with POST";
        Self::new(StatusCode::UPGRADE_REQUIRED, "websocket_not_served", what).no_retry()
    }

    pub(crate) fn no_retry(self) -> Self {
        Self { no_retry: true, ..self }
    }

    /// Converts an error from a call to the provider. A retry does not help if the settings are wrong.
    pub(crate) fn from_upstream(error: &ModelError) -> Self {
        let message = format!("bethink's gateway could not use the provider: {}", error.message);
        let of = |status, code| Self::new(status, code, message.as_str());
        match error.class {
            ErrorClass::TimedOut => of(StatusCode::GATEWAY_TIMEOUT, "upstream_timeout"),
            ErrorClass::Unreachable => of(StatusCode::BAD_GATEWAY, "upstream_unreachable"),
            ErrorClass::Auth => {
                of(StatusCode::INTERNAL_SERVER_ERROR, "upstream_key_unavailable").no_retry()
            }
            ErrorClass::Forbidden => of(StatusCode::BAD_GATEWAY, "upstream_forbidden").no_retry(),
            _ => of(StatusCode::BAD_GATEWAY, "upstream_broken"),
        }
    }

    /// Converts an error of the daemon; `None` if the request can be forwarded anyway.
    pub(crate) fn from_service(error: &ServiceError) -> Option<Self> {
        let is_own_field =
            || error.field.as_deref().is_some_and(|field| OWN_FIELDS.contains(&field));
        let (status, code) = match error.kind {
            ErrorKind::Invalid if is_own_field() => (StatusCode::BAD_REQUEST, "invalid_request"),
            ErrorKind::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            ErrorKind::Conflict => (StatusCode::CONFLICT, "conflict"),
            ErrorKind::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            ErrorKind::ContextOverflow => (StatusCode::BAD_REQUEST, "context_length_exceeded"),
            _ => return None,
        };
        let hint = error.hint.as_deref().map_or_else(String::new, |hint| format!(": {hint}"));
        let message = format!("bethink: {}{hint}", error.sentence());
        // Clients would retry after a 409, and fail again.
        Some(Self::new(status, code, message).no_retry())
    }

    /// Returns the status to send. Clients of Gemini do not read `x-should-retry`, and repeat a request after every status
    /// of 500 and above.
    fn status_for(&self, provider: Provider) -> StatusCode {
        match provider {
            Provider::Gemini if self.no_retry && self.status.is_server_error() => {
                StatusCode::BAD_REQUEST
            }
            _ => self.status,
        }
    }

    pub(crate) fn answer(&self, provider: Provider) -> Response {
        let id = format!("req_bethink_{}", Uuid::new_v4().simple());
        let status = self.status_for(provider);
        let (header, body) = match provider {
            Provider::Anthropic => {
                let mut body = anthropic_error(status.as_u16(), &self.message);
                body["request_id"] = id.clone().into();
                ("request-id", body)
            }
            Provider::OpenAi => {
                ("x-request-id", openai_error(status.as_u16(), &self.message, self.code))
            }
            Provider::Gemini => ("x-request-id", gemini_error(status.as_u16(), &self.message)),
        };
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(id) = HeaderValue::from_str(&id) {
            headers.insert(header, id);
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from(bethink_intake::RETRY_SECONDS));
        }
        // Some clients repeat a request after any error.
        let is_final = self.status.is_client_error() && self.status != StatusCode::REQUEST_TIMEOUT;
        if self.no_retry || is_final {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http_body_util::BodyExt;
    use serde_json::json;

    use super::*;

    async fn read(fault: &GatewayFault, provider: Provider) -> (HeaderMap, serde_json::Value) {
        let (parts, body) = fault.answer(provider).into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (parts.headers, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn errors_look_like_the_provider_s() {
        let fault = GatewayFault::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "m").no_retry();
        let (headers, body) = read(&fault, Provider::Anthropic).await;
        assert_eq!(body["type"], "error");
        assert_eq!(body["error"]["type"], "request_too_large");
        assert_eq!(headers["request-id"], body["request_id"].as_str().unwrap());
        assert_eq!(headers["x-should-retry"], "false");
        let (headers, body) = read(&fault, Provider::OpenAi).await;
        assert_eq!(body["error"]["code"], "too_large");
        assert_eq!(body["error"]["type"], "invalid_request_error");
        assert!(headers.contains_key("x-request-id"));
        let settings =
            GatewayFault::new(StatusCode::INTERNAL_SERVER_ERROR, "upstream_settings", "m");
        let (_, body) = read(&settings, Provider::Gemini).await;
        assert_eq!(body["error"], json!({"code": 500, "message": "m", "status": "INTERNAL"}));
        let (headers, body) = read(&settings.no_retry(), Provider::Gemini).await;
        assert_eq!(
            (body["error"]["code"].as_u64(), &body["error"]["status"]),
            (Some(400), &json!("INVALID_ARGUMENT"))
        );
        assert_eq!(headers["x-should-retry"], "false");
        let should_retry = async |status| {
            let fault = GatewayFault::new(status, "x", "m");
            !read(&fault, Provider::OpenAi).await.0.contains_key("x-should-retry")
        };
        assert!(should_retry(StatusCode::BAD_GATEWAY).await);
        assert!(should_retry(StatusCode::REQUEST_TIMEOUT).await);
        assert!(!should_retry(StatusCode::UNSUPPORTED_MEDIA_TYPE).await);
    }

    #[test]
    fn a_full_disk_is_no_reason_to_refuse_nor_is_a_strange_message() {
        let strange = ServiceError::invalid("messages[0].role", "no such role");
        assert_eq!(GatewayFault::from_service(&strange), None);
        for kind in [
            ErrorKind::StorageFull,
            ErrorKind::ReadOnly,
            ErrorKind::Internal,
            ErrorKind::ShuttingDown,
        ] {
            assert_eq!(GatewayFault::from_service(&ServiceError::new(kind, "x")), None);
        }
        let fault =
            GatewayFault::from_service(&ServiceError::not_found("no such session")).unwrap();
        assert_eq!(fault.status, StatusCode::NOT_FOUND);
    }
}
