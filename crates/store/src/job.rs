pub use bethink_api::JobState;
use bethink_transcript::{JobId, SessionId, UnixMicros};

use crate::error::StoreFuture;

/// Background work as rows: leased, with owner, heartbeat and watermark.
pub trait JobStore {
    fn enqueue(&self, new: NewJob) -> StoreFuture<'_, ()>;
    fn job(&self, id: JobId) -> StoreFuture<'_, JobRecord>;
    /// The newest, at most so many.
    fn jobs(&self, limit: usize) -> StoreFuture<'_, Vec<JobRecord>>;
    /// Takes the oldest job that is queued, or whose lease ran out before `now`; one in the background
    /// only if asked for, and when there is no other.
    fn lease(&self, lease: Lease) -> StoreFuture<'_, Option<JobRecord>>;
    /// Extends the lease and notes progress. `Conflict` if another owner has it.
    fn heartbeat(&self, id: JobId, lease: Lease, progress: Progress) -> StoreFuture<'_, ()>;
    fn finish(
        &self,
        id: JobId,
        owner: String,
        outcome: JobOutcome,
        at: UnixMicros,
    ) -> StoreFuture<'_, ()>;
    /// Hands unfinished work of this owner back, so that the next daemon need not wait for a lease.
    fn release(&self, owner: String) -> StoreFuture<'_, ()>;
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
    pub unit: String,
    /// JSON that the work needs to go on from here after a crash.
    pub watermark: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    pub id: JobId,
    pub kind: String,
    pub session: Option<SessionId>,
    /// JSON.
    pub payload: String,
    /// Nobody waits for it: all other work goes first.
    pub background: bool,
    pub created_at: UnixMicros,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    pub id: JobId,
    pub kind: String,
    pub session: Option<SessionId>,
    pub payload: String,
    pub state: JobState,
    pub owner: Option<String>,
    /// How often it has been leased.
    pub attempts: u64,
    pub progress: Progress,
    /// JSON, when done.
    pub result: Option<String>,
    pub error: Option<String>,
    pub created_at: UnixMicros,
    pub updated_at: UnixMicros,
}

/// Who works on it, and until when without a sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub owner: String,
    /// Also work in the background, if there is no other.
    pub background: bool,
    pub now: UnixMicros,
    pub until: UnixMicros,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// JSON.
    Done(String),
    Failed(String),
}
