use bethink_transcript::{JobId, Seq, SessionId};
use bytes::Bytes;

use crate::error::StoreFuture;
use crate::job::Progress;
use crate::message::NewMessage;

/// Lines of imported files.
pub trait ImportStore {
    /// In one transaction, stores the records, the messages among them, and the job's progress.
    fn import(&self, batch: ImportBatch) -> StoreFuture<'_, ()>;
    /// Returns the records of an imported session after `after_line`, in order of their lines.
    fn records(
        &self,
        id: SessionId,
        after_line: u64,
        limit: usize,
    ) -> StoreFuture<'_, Vec<StoredRecord>>;
    /// Returns the session that was imported from a file with this content hash, if it still exists.
    fn imported(&self, content_hash: &str) -> StoreFuture<'_, Option<SessionId>>;
}

/// One line of an imported file, split around its message, so that `head + message.raw + tail` yields the line,
/// including its line ending. If a line has no message, the head is the whole line.
#[derive(Clone, Debug)]
pub struct NewRecord {
    /// Line number, from 1.
    pub line: u64,
    pub head: Bytes,
    pub tail: Bytes,
    /// The message and its session, which is the file's own session or a child made from a sidechain. The message has
    /// no terms yet, because indexing takes longer than storing. Until [`index`](crate::Store::index) adds its terms,
    /// [`unindexed`](crate::Store::unindexed) returns the message.
    pub message: Option<(SessionId, NewMessage)>,
}

/// A stored line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    pub line: u64,
    pub head: Bytes,
    /// Raw bytes of the message between head and tail.
    pub raw: Bytes,
    pub tail: Bytes,
    pub message: Option<(SessionId, Seq)>,
}

/// A batch of an import. Messages that repeat an id of their session are stored only as records.
#[derive(Clone, Debug)]
pub struct ImportBatch {
    /// The session that owns the file.
    pub session: SessionId,
    pub records: Vec<NewRecord>,
    pub progress: Option<(JobId, Progress)>,
}
