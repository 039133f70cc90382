//! Errors of a model call: a class with figures, which decides whether and how to retry.

use std::fmt;
use std::time::Duration;

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{class}: {message}")]
pub struct ModelError {
    pub class: ErrorClass,
    pub figures: Figures,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// The provider's own text: one line, bounded, without control characters and without keys.
    pub message: String,
    /// The wait that the provider asked for.
    pub retry_after: Option<Duration>,
    /// The provider's id of the request, for its support.
    pub request_id: Option<String>,
}

impl ModelError {
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            figures: Figures::default(),
            status: None,
            message: message.into(),
            retry_after: None,
            request_id: None,
        }
    }
}

/// Token counts in an error text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The prompt's own size.
    pub input: Option<u64>,
    /// What `max_tokens` asked for.
    pub output: Option<u64>,
    /// The limit.
    pub limit: Option<u64>,
    /// How far the prompt is over the limit, if only that is given.
    pub over: Option<u64>,
}

impl Figures {
    /// How far the prompt is over the limit, if the error says so.
    pub fn gap(&self) -> Option<u64> {
        let gap = self.over.or_else(|| {
            let needed = self.input?.saturating_add(self.output.unwrap_or(0));
            needed.checked_sub(self.limit?)
        });
        gap.filter(|gap| *gap > 0)
    }
}

/// The kind of failure. Every error has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The prompt is longer than the window.
    Overflow,
    /// Prompt and `max_tokens` together are longer than the window.
    OutputOverflow,
    /// An image or a document is too large or unreadable, there are too many, or none is accepted.
    MediaTooLarge,
    /// The request has too many bytes.
    RequestTooLarge,
    /// A thinking block belongs to another conversation, or was changed.
    ThinkingBound,
    /// Tool calls and results do not match.
    History,
    RateLimited,
    Overloaded,
    /// An internal error of the provider.
    Server,
    /// The key is missing, wrong, or not allowed to do this.
    Auth,
    /// The account has no money or quota left.
    Quota,
    /// There is no such model, or no such route.
    NotFound,
    /// The provider rejects the request for another reason.
    Invalid,
    /// No connection could be made.
    Unreachable,
    /// No data arrived for too long.
    TimedOut,
    /// The answer was cut off or is malformed.
    Broken,
    /// The answer, or one of its events, is larger than the limit.
    TooMuch,
    /// bethink did not send the request: the address, the budget or the breaker forbids it.
    Forbidden,
    /// None of these; never retried.
    Unknown,
}

/// Whether a retry can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The same request, after a wait.
    Same,
    /// Only a changed request.
    Changed,
    /// Not until a person has changed something.
    Never,
}

/// Every class in order, with its stable name for records and events.
const CLASSES: [(ErrorClass, &str, Retry); 19] = [
    (ErrorClass::Overflow, "overflow", Retry::Changed),
    (ErrorClass::OutputOverflow, "output_overflow", Retry::Changed),
    (ErrorClass::MediaTooLarge, "media_too_large", Retry::Changed),
    (ErrorClass::RequestTooLarge, "request_too_large", Retry::Changed),
    (ErrorClass::ThinkingBound, "thinking_bound", Retry::Changed),
    (ErrorClass::History, "history", Retry::Never),
    (ErrorClass::RateLimited, "rate_limited", Retry::Same),
    (ErrorClass::Overloaded, "overloaded", Retry::Same),
    (ErrorClass::Server, "server", Retry::Same),
    (ErrorClass::Auth, "auth", Retry::Never),
    (ErrorClass::Quota, "quota", Retry::Never),
    (ErrorClass::NotFound, "not_found", Retry::Never),
    (ErrorClass::Invalid, "invalid", Retry::Never),
    (ErrorClass::Unreachable, "unreachable", Retry::Same),
    (ErrorClass::TimedOut, "timed_out", Retry::Same),
    (ErrorClass::Broken, "broken", Retry::Same),
    (ErrorClass::TooMuch, "too_much", Retry::Never),
    (ErrorClass::Forbidden, "forbidden", Retry::Never),
    (ErrorClass::Unknown, "unknown", Retry::Never),
];

impl ErrorClass {
    pub fn all() -> [ErrorClass; CLASSES.len()] {
        CLASSES.map(|(class, ..)| class)
    }

    pub fn retry(self) -> Retry {
        CLASSES[self as usize].2
    }

    pub fn as_str(self) -> &'static str {
        CLASSES[self as usize].1
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_stands_in_its_place() {
        for (place, (class, name, _)) in CLASSES.into_iter().enumerate() {
            assert_eq!(class as usize, place, "{name}");
        }
    }
}
