use bethink_transcript::{CallId, SessionId, UnixMicros};

use crate::error::StoreFuture;

/// The ledger: what calls of models cost.
pub trait LedgerStore {
    /// Writes down a call; of a session that is gone, too. The same id again is `Conflict`.
    fn add_model_call(&self, call: ModelCall) -> StoreFuture<'_, ()>;
    /// Sums of calls, those with the newest call first.
    fn model_usage(&self, filter: UsageFilter) -> StoreFuture<'_, Vec<UsageSum>>;
}

/// Larger figures of one call are a provider's fault, and count as this: sums of millions of calls stay
/// far from overflow.
pub const MOST_OF_A_CALL: u64 = 1 << 40;

/// One call of a model, answered or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    /// A UUIDv7, so that ids go with time.
    pub id: CallId,
    pub session: Option<SessionId>,
    /// `summary`, `notes`, `collapse`, …
    pub purpose: String,
    pub provider: String,
    pub model: String,
    pub started_at: UnixMicros,
    pub millis: u64,
    /// Tokens that no cache held.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Millionths of a US dollar; `None` where the model has no known price.
    pub cost: Option<u64>,
    /// `ok`, or the class of the error.
    pub outcome: String,
}

/// Which calls to sum up; all of them by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageFilter {
    pub session: Option<SessionId>,
    /// Calls that began then or later.
    pub since: Option<UnixMicros>,
    /// Sums of each session apart; otherwise over all sessions, and `session` of a sum is `None`.
    pub by_session: bool,
}

/// Calls of one purpose and model together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageSum {
    pub session: Option<SessionId>,
    pub purpose: String,
    pub model: String,
    pub calls: u64,
    pub failed: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Of the calls that have a price.
    pub cost: u64,
    /// Calls that used tokens and have no price.
    pub unpriced: u64,
    /// When the newest of them began.
    pub last_at: UnixMicros,
}
