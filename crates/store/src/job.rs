pub use bethink_api::JobState;
use bethink_transcript::{JobId, SessionId, UnixMicros};

use crate::error::StoreFuture;

/// Background jobs, which are leased to an owner.
pub trait JobStore {
    fn enqueue(&self, new: NewJob) -> StoreFuture<'_, ()>;
    fn job(&self, id: JobId) -> StoreFuture<'_, JobRecord>;
    /// Returns the newest jobs, at most `limit`.
    fn jobs(&self, limit: usize) -> StoreFuture<'_, Vec<JobRecord>>;
    /// Leases the oldest job that is queued or whose lease expired before `now`. Takes a background job only if
    /// requested, and only if there is no other job.
    fn lease(&self, lease: Lease) -> StoreFuture<'_, Option<JobRecord>>;
    /// Extends the lease and records progress. Fails with `Conflict` if another owner has the lease.
    fn heartbeat(&self, id: JobId, lease: Lease, progress: Progress) -> StoreFuture<'_, ()>;
    fn finish(
        &self,
        id: JobId,
        owner: String,
        outcome: JobOutcome,
        at: UnixMicros,
    ) -> StoreFuture<'_, ()>;
    /// Releases unfinished jobs of this owner, so that the next daemon need not wait for leases to expire.
    fn release(&self, owner: String) -> StoreFuture<'_, ()>;
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
    pub unit: String,
    /// JSON that the job needs to continue after a crash.
    pub watermark: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    pub id: JobId,
    pub kind: String,
    pub session: Option<SessionId>,
    /// JSON.
    pub payload: String,
    /// Whether no client waits for the job, so that all other jobs come first.
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
    /// Number of times that the job has been leased.
    pub attempts: u64,
    pub progress: Progress,
    /// JSON; set when the job is done.
    pub result: Option<String>,
    pub error: Option<String>,
    pub created_at: UnixMicros,
    pub updated_at: UnixMicros,
}

/// The owner of a job, and when the lease expires without a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub owner: String,
    /// Whether to take a background job if there are no others.
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
