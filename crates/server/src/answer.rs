//! A handler's answer: a status and JSON text, which can be stored for a repeated request.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Serialize;

use crate::problem::HttpFailure;

/// What every handler returns.
pub(crate) type Reply = Result<HttpAnswer, HttpFailure>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpAnswer {
    status: StatusCode,
    /// JSON; empty for 204.
    body: Bytes,
}

impl HttpAnswer {
    pub(crate) fn ok<T: Serialize>(value: &T) -> Reply {
        Self::with(StatusCode::OK, value)
    }

    pub(crate) fn with<T: Serialize>(status: StatusCode, value: &T) -> Reply {
        match serde_json::to_vec(value) {
            Ok(body) => Ok(Self { status, body: body.into() }),
            Err(error) => Err(HttpFailure::internal(&error)),
        }
    }

    /// Creates an answer from JSON that is already serialized.
    pub(crate) fn text(body: Bytes) -> Self {
        Self { status: StatusCode::OK, body }
    }

    pub(crate) fn nothing() -> Self {
        Self { status: StatusCode::NO_CONTENT, body: Bytes::new() }
    }

    /// Returns the answer as it is stored with an idempotency key: the status in three digits, then the body.
    pub(crate) fn to_kept(&self) -> String {
        format!("{}{}", self.status.as_u16(), String::from_utf8_lossy(&self.body))
    }

    pub(crate) fn from_kept(kept: &str) -> Option<Self> {
        let (status, body) = kept.split_at_checked(3)?;
        let status = StatusCode::from_bytes(status.as_bytes()).ok()?;
        Some(Self { status, body: Bytes::copy_from_slice(body.as_bytes()) })
    }
}

impl IntoResponse for HttpAnswer {
    fn into_response(self) -> Response {
        if self.body.is_empty() {
            return self.status.into_response();
        }
        (self.status, [(CONTENT_TYPE, "application/json")], self.body).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_answer_comes_back_as_it_was() {
        let answers =
            [HttpAnswer::nothing(), HttpAnswer::with(StatusCode::CREATED, &["ä", "\"\n"]).unwrap()];
        for answer in answers {
            assert_eq!(HttpAnswer::from_kept(&answer.to_kept()), Some(answer));
        }
        for damaged in ["", "20", "xyz{}", "ä"] {
            assert_eq!(HttpAnswer::from_kept(damaged), None, "{damaged}");
        }
    }
}
