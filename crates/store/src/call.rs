use bethink_transcript::{CallId, SessionId, UnixMicros};

use crate::error::StoreFuture;

/// The ledger: what model calls cost.
pub trait LedgerStore {
    /// Records a call, even if its session was deleted. A repeated id is a `Conflict`.
    fn add_model_call(&self, call: ModelCall) -> StoreFuture<'_, ()>;
    /// Returns sums of calls, ordered by their newest call, newest first.
    fn model_usage(&self, filter: UsageFilter) -> StoreFuture<'_, Vec<UsageSum>>;
}

/// Maximum value of any figure of a call, such as its number of tokens. A larger value is the provider's mistake, and
/// is capped, so that the sum of millions of calls does not overflow.
pub const MOST_OF_A_CALL: u64 = 1 << 40;

/// One model call, answered or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    /// A UUIDv7, so that ids are in chronological order.
    pub id: CallId,
    pub session: Option<SessionId>,
    /// `summary`, `notes`, `extraction`, …
    pub purpose: String,
    pub provider: String,
    pub model: String,
    pub started_at: UnixMicros,
    pub millis: u64,
    /// Number of prompt tokens that were not cached.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Cost in millionths of a US dollar; `None` if the model has no known price.
    pub cost: Option<u64>,
    /// `ok`, or the class of the error.
    pub outcome: String,
}

/// Which calls to sum up; all of them by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageFilter {
    pub session: Option<SessionId>,
    /// Only calls that began at this time or later.
    pub since: Option<UnixMicros>,
    /// Sum each session separately; otherwise all sessions together, with `session` `None`.
    pub by_session: bool,
}

/// The sum of calls with one purpose and model.
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
    /// Cost of the calls that have a price.
    pub cost: u64,
    /// Number of calls that used tokens but have no price.
    pub unpriced: u64,
    /// When the newest of these calls began.
    pub last_at: UnixMicros,
}
