//! Why the daemon would not do what it was asked, in terms a caller can act on.

use bethink_api::ContextReport;

/// The kinds of refusal; the server decides a status for each, in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request breaks a rule; `field` says where.
    Invalid,
    NotFound,
    /// Another state of things than the request assumes.
    Conflict,
    /// The same `Idempotency-Key` came with another request.
    KeyReused,
    TooLarge,
    /// The window is full of what no reduction may touch.
    ContextOverflow,
    /// Nothing to compact, or no compaction would help.
    NotCompactable,
    StorageFull,
    ReadOnly,
    ShuttingDown,
    /// A fault of ours.
    Internal,
}

/// A refusal: what, where, what is allowed, what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{detail}")]
pub struct Refusal {
    pub kind: Kind,
    pub detail: String,
    pub field: Option<String>,
    pub limit: Option<u64>,
    pub actual: Option<u64>,
    pub hint: Option<String>,
    pub context: Option<Box<ContextReport>>,
}

impl Refusal {
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            field: None,
            limit: None,
            actual: None,
            hint: None,
            context: None,
        }
    }

    pub fn invalid(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..Self::new(Kind::Invalid, detail) }
    }

    pub fn bounded(mut self, limit: u64, actual: u64) -> Self {
        self.limit = Some(limit);
        self.actual = Some(actual);
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
