//! Why there is no answer, as a class with figures, decided before anything is tried again.

use std::fmt;
use std::time::Duration;

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{class}: {message}")]
pub struct ModelError {
    pub class: Class,
    pub figures: Figures,
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    /// The provider's own text: one line, bounded, without control characters and without keys.
    pub message: String,
    /// The wait that the provider asked for.
    pub retry_after: Option<Duration>,
    /// Some of the answer was handed on already: the call must not be repeated unseen.
    pub heard: bool,
    /// The provider's id of the request, for its support.
    pub request_id: Option<String>,
}

impl ModelError {
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Self {
            class,
            figures: Figures::default(),
            status: None,
            message: message.into(),
            retry_after: None,
            heard: false,
            request_id: None,
        }
    }
}

/// Numbers that an error text names, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The prompt's own size.
    pub input: Option<u64>,
    /// What `max_tokens` asked for.
    pub output: Option<u64>,
    /// The most that is allowed.
    pub limit: Option<u64>,
    /// By how much it is too long, where only that is told.
    pub over: Option<u64>,
}

impl Figures {
    /// By how much the prompt is too long, where the error says so.
    pub fn gap(&self) -> Option<u64> {
        let told = self.over.or_else(|| {
            let needed = self.input?.saturating_add(self.output.unwrap_or(0));
            needed.checked_sub(self.limit?)
        });
        told.filter(|gap| *gap > 0)
    }
}

/// What kind of failure it is. Every error has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The prompt is longer than the window.
    Overflow,
    /// Prompt and `max_tokens` together are longer than the window.
    OutputOverflow,
    /// An image or a document is too large or can't be read, there are too many, or none is taken.
    MediaTooLarge,
    /// The request has too many bytes.
    RequestTooLarge,
    /// A thinking block belongs to another conversation, or was changed.
    ThinkingBound,
    /// Calls and results do not belong together.
    History,
    RateLimited,
    Overloaded,
    /// The provider's own fault.
    Server,
    /// The key is missing, wrong, or not allowed to do this.
    Auth,
    /// The account has no money or quota left.
    Quota,
    /// There is no such model, or no such route.
    NotFound,
    /// The provider refuses the request for a reason of its own.
    Invalid,
    /// No connection could be made.
    Unreachable,
    /// Nothing came for too long.
    TimedOut,
    /// The answer broke off, is no answer, or has the wrong shape.
    Broken,
    /// The answer, or an event of it, has more bytes than are taken.
    TooMuch,
    /// bethink does not send: the address, the budget or the breaker forbids it.
    Forbidden,
    /// None of these; never repeated.
    Unknown,
}

/// Whether asking once more can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The same request, after a wait.
    Same,
    /// Only a changed request.
    Changed,
    /// No request of this kind until a person has changed something.
    Never,
}

impl Class {
    pub const ALL: [Class; 19] = [
        Class::Overflow,
        Class::OutputOverflow,
        Class::MediaTooLarge,
        Class::RequestTooLarge,
        Class::ThinkingBound,
        Class::History,
        Class::RateLimited,
        Class::Overloaded,
        Class::Server,
        Class::Auth,
        Class::Quota,
        Class::NotFound,
        Class::Invalid,
        Class::Unreachable,
        Class::TimedOut,
        Class::Broken,
        Class::TooMuch,
        Class::Forbidden,
        Class::Unknown,
    ];

    pub fn retry(self) -> Retry {
        match self {
            Class::Overflow
            | Class::OutputOverflow
            | Class::MediaTooLarge
            | Class::RequestTooLarge
            | Class::ThinkingBound => Retry::Changed,
            Class::RateLimited
            | Class::Overloaded
            | Class::Server
            | Class::Unreachable
            | Class::TimedOut
            | Class::Broken => Retry::Same,
            Class::History
            | Class::Auth
            | Class::Quota
            | Class::NotFound
            | Class::Invalid
            | Class::TooMuch
            | Class::Forbidden
            | Class::Unknown => Retry::Never,
        }
    }

    /// A stable name for records and events.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Overflow => "overflow",
            Class::OutputOverflow => "output_overflow",
            Class::MediaTooLarge => "media_too_large",
            Class::RequestTooLarge => "request_too_large",
            Class::ThinkingBound => "thinking_bound",
            Class::History => "history",
            Class::RateLimited => "rate_limited",
            Class::Overloaded => "overloaded",
            Class::Server => "server",
            Class::Auth => "auth",
            Class::Quota => "quota",
            Class::NotFound => "not_found",
            Class::Invalid => "invalid",
            Class::Unreachable => "unreachable",
            Class::TimedOut => "timed_out",
            Class::Broken => "broken",
            Class::TooMuch => "too_much",
            Class::Forbidden => "forbidden",
            Class::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
