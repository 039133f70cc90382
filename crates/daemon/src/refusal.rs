//! Why the daemon would not do what it was asked, in terms a caller can act on.

use bethink_api::{BothVersions, ContextReport};

/// The kinds of refusal; the server decides a status for each, in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request breaks a rule; `field` says where.
    Invalid,
    NotFound,
    /// Another state of things than the request assumes.
    Conflict,
    /// An `If-Match` that no longer holds.
    Stale,
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
    /// Another machine did not answer, or not to us.
    Unreachable,
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
    pub versions: Option<Box<BothVersions>>,
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
            versions: None,
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

impl Refusal {
    /// A fault of ours: the cause is logged, the caller learns that it is not theirs.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        Self::new(Kind::Internal, cause.to_string())
    }
}

/// What a store said to a write that came with an `Idempotency-Key`.
pub(crate) fn keyed(error: bethink_store::StoreError) -> Refusal {
    match error {
        bethink_store::StoreError::Conflict(detail) => Refusal::new(Kind::KeyReused, detail)
            .hint("use a new Idempotency-Key for a new request"),
        other => other.into(),
    }
}

impl From<bethink_store::StoreError> for Refusal {
    fn from(error: bethink_store::StoreError) -> Self {
        use bethink_store::StoreError as E;
        let detail = error.to_string();
        match error {
            E::NotFound { .. } => Self::new(Kind::NotFound, detail),
            E::Conflict(_) => Self::new(Kind::Conflict, detail),
            E::Full => Self::new(Kind::StorageFull, "the disk is full; reads go on")
                .hint("free some space; writes work again at once"),
            E::ReadOnly(_) => {
                Self::new(Kind::ReadOnly, detail).hint("check the permissions of bethink's home")
            }
            E::Closed => Self::new(Kind::ShuttingDown, "the daemon is stopping"),
            E::Damaged(_) | E::Newer { .. } | E::Failed(_) => Self::new(Kind::Internal, detail),
        }
    }
}
