//! Turns a provider's error, or a failure on the wire, into a [`ModelError`].

use bethink_model::classify::{ProviderMessage, classify};
use bethink_model::{ErrorClass, ModelError};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::clean::clean;
use crate::head::{ResponseHead, request_id};
use crate::key::{ApiKey, KeyError};
use crate::limits::MAX_REFUSAL;
use crate::resolve::NotAllowed;

/// Types, as JSON, of the events that report the failure of a Responses API stream.
const FAILURES: [&str; 2] = ["\"error\"", "\"response.failed\""];

#[derive(Debug)]
pub(crate) enum ProviderTrouble {
    /// The provider returned an error.
    Refused(ProviderRefusal),
    /// The error was detected in this crate.
    Detected(ErrorClass, String),
    /// The request was sent, and nothing arrived for too long.
    Silent(String),
}

impl ProviderTrouble {
    pub(crate) fn broken(what: impl Into<String>) -> Self {
        Self::Detected(ErrorClass::Broken, what.into())
    }

    pub(crate) fn too_much(what: &str, most: usize) -> Self {
        Self::Detected(ErrorClass::TooMuch, format!("{what} has more than {most} bytes"))
    }

    pub(crate) fn no_json(what: &str, error: &serde_json::Error) -> Self {
        Self::broken(format!("could not read {what}: {error}"))
    }

    /// Converts a transport error, and leaves out the URL.
    pub(crate) fn of_transport(error: &reqwest::Error, origin: &str) -> Self {
        let class = match error {
            e if has_source::<NotAllowed>(e) => ErrorClass::Forbidden,
            e if e.is_timeout() => ErrorClass::TimedOut,
            e if e.is_connect() => ErrorClass::Unreachable,
            e if e.is_redirect() => ErrorClass::Forbidden,
            _ => ErrorClass::Broken,
        };
        let what = match class {
            ErrorClass::Broken => "the connection was lost",
            ErrorClass::TimedOut => "timed out",
            _ => "could not connect",
        };
        let mut cause = deepest(error);
        // This is how the TLS library calls a message that is not TLS.
        if cause.contains("InvalidContentType") {
            cause = "the server does not use TLS on this port; use http:// in its URL".to_owned();
        }
        Self::Detected(class, format!("{what} ({origin}): {cause}"))
    }

    /// Converts the error for the caller, without the key.
    pub(crate) fn explained(self, head: &ResponseHead, key: Option<&ApiKey>) -> ModelError {
        let mut error = match self {
            Self::Detected(class, message) => ModelError::new(class, clean(&message, key)),
            Self::Silent(message) => ModelError {
                usage: Some(Box::default()),
                ..ModelError::new(ErrorClass::TimedOut, clean(&message, key))
            },
            Self::Refused(refusal) => {
                // The status matters only if it is an error status.
                let status = head.status.filter(|status| *status >= 400);
                let (class, figures) = classify(&refusal.said(status));
                let mut error = ModelError::new(class, clean(&refusal.shown(), key));
                error.figures = figures;
                let id = refusal.request_id.filter(|id| clean(id, key) == *id);
                error.request_id = id.map(Into::into);
                error
            }
        };
        let named = head.request_id.clone().filter(|id| clean(id, key) == *id);
        error.request_id = named.map(Into::into).or(error.request_id);
        error.status = head.status;
        error.retry_after = head.retry_after;
        error
    }
}

impl From<KeyError> for ProviderTrouble {
    fn from(error: KeyError) -> Self {
        let class = match error {
            KeyError::OtherOrigin => ErrorClass::Forbidden,
            _ => ErrorClass::Auth,
        };
        Self::Detected(class, error.to_string())
    }
}

fn has_source<T: std::error::Error + 'static>(error: &reqwest::Error) -> bool {
    sources(error).any(<dyn std::error::Error>::is::<T>)
}

/// Returns the root cause. The errors that wrap it repeat its text and add a URL.
fn deepest(error: &reqwest::Error) -> String {
    sources(error).last().map_or_else(|| "unknown reason".to_owned(), ToString::to_string)
}

fn sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(std::error::Error::source(error), |source| source.source())
}

/// Classifies the error response to a forwarded call.
pub fn read_error(status: Option<u16>, body: &str) -> ModelError {
    let head = ResponseHead { status, ..ResponseHead::default() };
    ProviderTrouble::Refused(ProviderRefusal::of_body(body.as_bytes())).explained(&head, None)
}

/// An error that a provider, a gateway or a web server returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderRefusal {
    pub(crate) kind: Option<String>,
    pub(crate) code: Option<String>,
    pub(crate) message: String,
    pub(crate) request_id: Option<String>,
}

impl ProviderRefusal {
    /// Reads any body with an error status.
    pub(crate) fn of_body(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        match serde_json::from_str::<Value>(text) {
            Ok(value) => Self::of_value(&value).unwrap_or_else(|| Self::worded(text)),
            Err(_) if text.starts_with('<') => Self::worded(&page_title(text)),
            Err(_) => Self::worded(text),
        }
    }

    /// Reads `{"error": …}` in all its forms; `None` if there is no error.
    pub(crate) fn of_value(value: &Value) -> Option<Self> {
        let value = value.as_array().map_or(value, |all| all.first().unwrap_or(value));
        let value =
            value.get("response").filter(|inner| inner["error"].is_object()).unwrap_or(value);
        let member = |of: &Value, name: &str| match of.get(name) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::Null) | None => None,
            Some(other) => Some(other.to_string()),
        };
        let request_id = member(value, "request_id").and_then(|id| request_id(&id));
        match value.get("error") {
            Some(error @ Value::Object(_)) => Some(Self {
                kind: member(error, "type"),
                code: member(error, "code"),
                message: member(error, "message").unwrap_or_else(|| error.to_string()),
                request_id,
            }),
            Some(Value::Null | Value::Bool(false)) | None => {
                let message = member(value, "message").or_else(|| member(value, "detail"))?;
                let kind = member(value, "type");
                Some(Self { kind, code: member(value, "code"), message, request_id })
            }
            Some(_) => {
                let message = member(value, "error")?;
                Some(Self { kind: None, code: member(value, "code"), message, request_id })
            }
        }
    }

    /// Returns the error in a body that should be an answer; `None` if there is no error.
    pub(crate) fn in_answer(json: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Top<'a> {
            #[serde(borrow)]
            error: Option<&'a RawValue>,
            #[serde(borrow, rename = "type")]
            kind: Option<&'a RawValue>,
        }
        if !json.contains("\"error\"") {
            return None;
        }
        let top: Top<'_> = serde_json::from_str(json).ok()?;
        let has_error = top.error.is_some_and(|error| !matches!(error.get(), "null" | "false"));
        // Events of the Responses API have the error's members at the top, or in a response.
        let is_failure = |kind: &RawValue| FAILURES.contains(&kind.get());
        if !has_error && !top.kind.is_some_and(is_failure) {
            return None;
        }
        if json.len() > MAX_REFUSAL {
            return Some(Self::worded("the error response is too long"));
        }
        Self::of_value(&serde_json::from_str(json).ok()?)
    }

    fn worded(text: &str) -> Self {
        Self { message: text.to_owned(), ..Self::default() }
    }

    fn said(&self, status: Option<u16>) -> ProviderMessage<'_> {
        let (kind, code) = (self.kind.as_deref(), self.code.as_deref());
        ProviderMessage { status, kind, code, message: &self.message }
    }

    fn shown(&self) -> String {
        let name = self.kind.as_deref().or(self.code.as_deref());
        match (name, self.message.is_empty()) {
            (Some(name), false) => format!("{name}: {}", self.message),
            (Some(name), true) => name.to_owned(),
            (None, false) => self.message.clone(),
            (None, true) => "the server gave no reason".to_owned(),
        }
    }
}

fn page_title(html: &str) -> String {
    let lower = html.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|at| {
        let open = at + lower.get(at..)?.find('>')? + 1;
        let close = open + lower.get(open..)?.find('<')?;
        html.get(open..close)
    });
    let title = title.map(str::trim).filter(|title| !title.is_empty());
    format!("got a web page instead of a model's answer: {}", title.unwrap_or("no title"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_in_all_their_shapes() {
        let refusal = |kind: Option<&str>, code: Option<&str>, message: &str| ProviderRefusal {
            kind: kind.map(Into::into),
            code: code.map(Into::into),
            message: message.into(),
            request_id: None,
        };
        for (body, expect) in [
            (
                r#"{"type":"error","error":{"type":"api_error","message":"m"}}"#,
                refusal(Some("api_error"), None, "m"),
            ),
            (
                r#"{"error":{"message":"m","type":"t","param":null,"code":"c"}}"#,
                refusal(Some("t"), Some("c"), "m"),
            ),
            (
                r#"{"error":{"code":500,"message":"m","type":"server_error"}}"#,
                refusal(Some("server_error"), Some("500"), "m"),
            ),
            (
                r#"[{"error":{"code":429,"message":"m","status":"X"}}]"#,
                refusal(None, Some("429"), "m"),
            ),
            (r#"{"error":"model 'x' not found"}"#, refusal(None, None, "model 'x' not found")),
            (
                r#"{"object":"error","message":"m","type":"BadRequest","code":400}"#,
                refusal(Some("BadRequest"), Some("400"), "m"),
            ),
            (r#"{"detail":"Not Found"}"#, refusal(None, None, "Not Found")),
            (r#"{"detail":[{"msg":"x"}]}"#, refusal(None, None, r#"[{"msg":"x"}]"#)),
            ("no healthy upstream\n", refusal(None, None, "no healthy upstream")),
            (
                "<!DOCTYPE html><head><TITLE>502 Bad\nGateway</TITLE>",
                refusal(None, None, "got a web page instead of a model's answer: 502 Bad\nGateway"),
            ),
            (
                "<html><title",
                refusal(None, None, "got a web page instead of a model's answer: no title"),
            ),
            ("", refusal(None, None, "")),
            ("[]", refusal(None, None, "[]")),
        ] {
            assert_eq!(ProviderRefusal::of_body(body.as_bytes()), expect, "{body}");
        }
        let with_id =
            ProviderRefusal::of_body(br#"{"error":{"message":"m"},"request_id":"req_7"}"#);
        assert_eq!(with_id.request_id.as_deref(), Some("req_7"));
        assert_eq!(ProviderRefusal::of_body(b"\xff\xfe").message, "\u{fffd}\u{fffd}");
    }

    #[test]
    fn an_answer_that_speaks_of_errors_is_none() {
        assert_eq!(ProviderRefusal::in_answer(r#"{"content":"\"error\"","error":null}"#), None);
        assert_eq!(ProviderRefusal::in_answer(r#"{"name":"error","error":false}"#), None);
        assert!(ProviderRefusal::in_answer(r#"{"error":{"message":"m"}}"#).is_some());
        let long = format!(r#"{{"error":"{}"}}"#, "x".repeat(MAX_REFUSAL));
        assert!(
            ProviderRefusal::in_answer(&long).is_some_and(|refusal| refusal.message.len() < 100)
        );
    }
}
