//! Errors as `application/problem+json`. This is the only place that decides the HTTP status of an error.

use std::fmt;
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use bethink_api::Problem;
use bethink_service::{ErrorKind, ServiceError};
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use serde::Serialize;

/// Seconds to wait before a retry. By then, another daemon may have taken over the home, the disk may work again, or a
/// connection may be free.
const RETRY_SECONDS: u64 = 1;

/// An error to send: the problem, and headers that belong to it.
#[derive(Debug)]
pub(crate) struct HttpFailure {
    problem: Box<Problem>,
    headers: HeaderMap,
}

/// The kind of an error: an HTTP error, or an error of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProblemSort {
    InvalidJson,
    InvalidUtf8,
    BodyCutOff,
    TooDeep,
    BodyTimeout,
    UnsupportedMediaType,
    Unauthorized,
    TooManyFailures,
    ForbiddenOrigin,
    Misdirected,
    MethodNotAllowed,
    Busy,
    #[serde(untagged)]
    OfService(ErrorKind),
}

/// Gives each kind its status and title.
macro_rules! problems {
    ($($sort:ident $(($kind:ident))? => $status:ident, $title:literal;)*) => {
        impl ProblemSort {
            /// All kinds, for the OpenAPI document.
            pub(crate) const ALL: [Self; 27] = [$(Self::$sort $((ErrorKind::$kind))?,)*];

            pub(crate) fn status_and_title(self) -> (StatusCode, &'static str) {
                match self {
                    $(Self::$sort $((ErrorKind::$kind))? => (StatusCode::$status, $title),)*
                }
            }
        }
    };
}

problems! {
    InvalidJson => BAD_REQUEST, "The body is not valid JSON";
    InvalidUtf8 => BAD_REQUEST, "The body is not valid UTF-8";
    BodyCutOff => BAD_REQUEST, "The body ended too early";
    TooDeep => UNPROCESSABLE_ENTITY, "The JSON is nested too deeply";
    BodyTimeout => REQUEST_TIMEOUT, "The body did not arrive in time";
    UnsupportedMediaType => UNSUPPORTED_MEDIA_TYPE, "The content type is not supported";
    Unauthorized => UNAUTHORIZED, "The token is missing or wrong";
    TooManyFailures => TOO_MANY_REQUESTS, "Too many wrong tokens";
    ForbiddenOrigin => FORBIDDEN, "The origin is not allowed";
    Misdirected => MISDIRECTED_REQUEST, "The Host header does not name this daemon";
    MethodNotAllowed => METHOD_NOT_ALLOWED, "The route does not support this method";
    Busy => SERVICE_UNAVAILABLE, "The daemon is busy";
    OfService(Invalid) => UNPROCESSABLE_ENTITY, "The request is invalid";
    OfService(NotFound) => NOT_FOUND, "Not found";
    OfService(Conflict) => CONFLICT, "The request conflicts with the current state";
    OfService(Stale) => PRECONDITION_FAILED, "The resource has changed since it was read";
    OfService(KeyReused) => UNPROCESSABLE_ENTITY, "The Idempotency-Key was used for a different request";
    OfService(TooLarge) => PAYLOAD_TOO_LARGE, "The request is too large";
    OfService(ContextOverflow) => UNPROCESSABLE_ENTITY, "The prompt does not fit the context window";
    OfService(NotCompactable) => CONFLICT, "The session cannot be compacted further";
    OfService(StorageFull) => INSUFFICIENT_STORAGE, "The disk is full";
    OfService(ReadOnly) => SERVICE_UNAVAILABLE, "A file, a directory or the database is read-only or not accessible";
    OfService(StorageFailed) => SERVICE_UNAVAILABLE, "A file or the database could not be read or written";
    OfService(StorageDamaged) => INTERNAL_SERVER_ERROR, "The database is damaged";
    OfService(ShuttingDown) => SERVICE_UNAVAILABLE, "The daemon is shutting down";
    OfService(Unreachable) => BAD_GATEWAY, "The remote is unreachable or denied access";
    OfService(Internal) => INTERNAL_SERVER_ERROR, "Internal error in the daemon";
}

/// Writes the stable name, as it appears in JSON.
impl fmt::Display for ProblemSort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl From<ErrorKind> for ProblemSort {
    fn from(kind: ErrorKind) -> Self {
        Self::OfService(kind)
    }
}

impl HttpFailure {
    pub(crate) fn new(sort: impl Into<ProblemSort>, detail: impl Into<String>) -> Self {
        let sort = sort.into();
        let (status, title) = sort.status_and_title();
        let problem = Box::new(Problem {
            kind: sort.to_string(),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            ..Problem::default()
        });
        let mut headers = HeaderMap::new();
        match sort {
            ProblemSort::Unauthorized => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            ProblemSort::OfService(ErrorKind::ShuttingDown | ErrorKind::StorageFailed)
            | ProblemSort::Busy => {
                headers.insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
            }
            _ => {}
        }
        Self { problem, headers }
    }

    /// Returns an error in a field or parameter.
    pub(crate) fn field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, detail).at(field)
    }

    /// Names the field that was wrong.
    pub(crate) fn at(mut self, field: impl Into<String>) -> Self {
        self.problem.field = Some(field.into());
        self
    }

    /// Returns an internal error. The cause is logged, but not sent to the client.
    pub(crate) fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(%cause, "a request failed with an internal error");
        Self::new(ErrorKind::Internal, "internal error in the daemon; see its log for the cause")
    }

    pub(crate) fn bounded(mut self, limit: u64, actual: u64) -> Self {
        self.problem.limit = Some(limit);
        self.problem.actual = Some(actual);
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.problem.hint = Some(hint.into());
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    pub(crate) fn slug(&self) -> &str {
        &self.problem.kind
    }

    #[cfg(test)]
    pub(crate) fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl From<ServiceError> for HttpFailure {
    fn from(refusal: ServiceError) -> Self {
        if refusal.kind == ErrorKind::Internal {
            return Self::internal(&refusal);
        }
        let mut failure = Self::new(refusal.kind, refusal.sentence());
        failure.problem.field = refusal.field;
        failure.problem.limit = refusal.limit;
        failure.problem.actual = refusal.actual;
        failure.problem.hint = refusal.hint;
        failure.problem.context = refusal.context;
        failure.problem.versions = refusal.versions;
        failure
    }
}

impl IntoResponse for HttpFailure {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.problem).unwrap_or_default();
        let kind = [(CONTENT_TYPE, "application/problem+json")];
        let mut response = (status, kind, self.headers, body).into_response();
        response.extensions_mut().insert(Arc::<Problem>::from(self.problem));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: ErrorKind) -> Problem {
        HttpFailure::from(ServiceError::new(kind, "why")).problem().clone()
    }

    #[test]
    fn every_kind_has_its_status_and_slug() {
        for (kind, status, slug) in [
            (ErrorKind::Invalid, 422, "invalid"),
            (ErrorKind::NotFound, 404, "not_found"),
            (ErrorKind::Conflict, 409, "conflict"),
            (ErrorKind::Stale, 412, "stale"),
            (ErrorKind::KeyReused, 422, "key_reused"),
            (ErrorKind::TooLarge, 413, "too_large"),
            (ErrorKind::ContextOverflow, 422, "context_overflow"),
            (ErrorKind::NotCompactable, 409, "not_compactable"),
            (ErrorKind::StorageFull, 507, "storage_full"),
            (ErrorKind::ReadOnly, 503, "read_only"),
            (ErrorKind::StorageFailed, 503, "storage_failed"),
            (ErrorKind::StorageDamaged, 500, "storage_damaged"),
            (ErrorKind::ShuttingDown, 503, "shutting_down"),
            (ErrorKind::Internal, 500, "internal"),
        ] {
            let problem = of(kind);
            assert_eq!((problem.status, problem.kind.as_str()), (status, slug));
        }
    }

    #[test]
    fn what_a_refusal_names_reaches_the_caller() {
        let refusal =
            ServiceError::invalid("messages[3].role", "no such role").bounded(2, 3).hint("do");
        let problem = HttpFailure::from(refusal).problem().clone();
        assert_eq!(problem.field.as_deref(), Some("messages[3].role"));
        assert_eq!((problem.limit, problem.actual), (Some(2), Some(3)));
        assert_eq!(problem.hint.as_deref(), Some("do"));
    }

    #[test]
    fn a_fault_of_ours_tells_nothing() {
        let problem = HttpFailure::from(ServiceError::new(ErrorKind::Internal, "secret path"))
            .problem()
            .clone();
        assert!(!problem.detail.contains("secret"));
    }

    #[test]
    fn headers_that_belong_to_a_status() {
        let response =
            HttpFailure::from(ServiceError::new(ErrorKind::ShuttingDown, "stop")).into_response();
        assert_eq!(response.headers()[RETRY_AFTER], "1");
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
        let response = HttpFailure::new(ProblemSort::Unauthorized, "who").into_response();
        assert_eq!(response.headers()[WWW_AUTHENTICATE], "Bearer");
    }
}
