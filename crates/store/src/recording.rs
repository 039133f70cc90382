use bethink_transcript::UnixMicros;

use crate::error::StoreFuture;

/// What must not be recorded.
pub trait RecordingStore {
    /// Returns all pauses, sorted by start time.
    fn pauses(&self) -> StoreFuture<'_, Vec<PauseRecord>>;
    /// Stores a pause, or changes the end of the one that began at that time.
    fn put_pause(&self, pause: PauseRecord) -> StoreFuture<'_, ()>;
    /// Returns the marks of the conversations that are not recorded, in the order in which they were added.
    fn unrecorded_marks(&self) -> StoreFuture<'_, Vec<u128>>;
    /// Adds a mark, unless it is already stored.
    fn add_unrecorded_mark(&self, mark: u128, at: UnixMicros) -> StoreFuture<'_, ()>;
}

/// A time in which nothing is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRecord {
    pub since: UnixMicros,
    /// `None` until somebody ends it.
    pub until: Option<UnixMicros>,
}
