use bethink_transcript::{JobId, Seq, SessionId};
use bytes::Bytes;

use crate::error::StoreFuture;
use crate::job::Progress;
use crate::message::NewMessage;

/// Lines of imported files.
pub trait ImportStore {
    /// One transaction: the records, the messages among them, and the job's progress.
    fn import(&self, batch: ImportBatch) -> StoreFuture<'_, ()>;
    /// Records of an imported session from `after_line` on, in order of line.
    fn records(
        &self,
        id: SessionId,
        after_line: u64,
        limit: usize,
    ) -> StoreFuture<'_, Vec<StoredRecord>>;
    /// The session that was imported from a file with this content hash, if it still lives.
    fn imported(&self, content_hash: &str) -> StoreFuture<'_, Option<SessionId>>;
}

/// One line of an imported file, cut around the message that it carries, so that
/// `head + message.raw + tail` is the line again, its end included. A line without a message is all
/// head.
#[derive(Clone, Debug)]
pub struct NewRecord {
    /// From 1.
    pub line: u64,
    pub head: Bytes,
    pub tail: Bytes,
    /// The session that the message belongs to: the file's own, or a child made from a sidechain. It has no terms yet:
    /// indexing takes longer than storing, and nobody waits for it. Until [`index`](crate::Store::index) has brought
    /// them, [`unindexed`](crate::Store::unindexed) tells of it.
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

/// A stretch of an import. Messages that repeat an id of their session are kept as a record alone.
#[derive(Clone, Debug)]
pub struct ImportBatch {
    /// The session that owns the file.
    pub session: SessionId,
    pub records: Vec<NewRecord>,
    pub progress: Option<(JobId, Progress)>,
}
