//! Errors of a model call. The class and the figures of an error decide whether and how to retry.

use std::time::Duration;

pub use bethink_api::ErrorClass;
use bethink_transcript::TokenUsage;

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{class}: {message}")]
pub struct ModelError {
    pub class: ErrorClass,
    pub figures: Figures,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// The provider's text as one line of bounded length, without control characters or keys.
    pub message: String,
    /// How long the provider asked the client to wait.
    pub retry_after: Option<Duration>,
    /// The provider's id of the request, which the provider's support may ask for.
    pub request_id: Option<Box<str>>,
    /// What an answer that broke off has used, as far as the provider reported it; `None` if no answer began.
    pub usage: Option<Box<TokenUsage>>,
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
            usage: None,
        }
    }
}

/// Token counts in an error text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Size of the prompt.
    pub input: Option<u64>,
    /// The requested `max_tokens`.
    pub output: Option<u64>,
    /// The limit that was exceeded.
    pub limit: Option<u64>,
    /// How far the prompt exceeds the limit, if the text gives only that.
    pub over: Option<u64>,
}

impl Figures {
    /// Returns how far the prompt exceeds the limit, if the error says so.
    pub fn gap(&self) -> Option<u64> {
        let gap = self.over.or_else(|| {
            let needed = self.input?.saturating_add(self.output.unwrap_or(0));
            needed.checked_sub(self.limit?)
        });
        gap.filter(|gap| *gap > 0)
    }
}

/// Whether a retry can help, and what kind of retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The same request may succeed after a wait.
    Same,
    /// Only a changed request can succeed.
    Changed,
    /// No request can succeed until a person has changed something.
    Never,
}

impl Retry {
    /// Returns whether a retry can help after an error of this class.
    pub fn after(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Overflow
            | ErrorClass::OutputOverflow
            | ErrorClass::MediaTooLarge
            | ErrorClass::RequestTooLarge
            | ErrorClass::ThinkingBound => Self::Changed,
            ErrorClass::RateLimited
            | ErrorClass::Overloaded
            | ErrorClass::Server
            | ErrorClass::Unreachable
            | ErrorClass::TimedOut
            | ErrorClass::Broken => Self::Same,
            ErrorClass::History
            | ErrorClass::Auth
            | ErrorClass::Quota
            | ErrorClass::NotFound
            | ErrorClass::Invalid
            | ErrorClass::TooMuch
            | ErrorClass::Forbidden
            | ErrorClass::Unknown => Self::Never,
        }
    }
}
