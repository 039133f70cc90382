use bethink_transcript::{JobId, MessageId, Role, Seq, SessionId, UnixMicros};
use bytes::Bytes;

use crate::job::Progress;

/// One line of an imported file, cut around the message that it carries, so that
/// `head + message.raw + tail` is the line again, its end included. A line without a message is all
/// head.
#[derive(Clone, Debug)]
pub struct NewRecord {
    /// From 1.
    pub line: u64,
    pub head: Bytes,
    pub tail: Bytes,
    /// The session that the message belongs to: the file's own, or a child made from a sidechain.
    pub message: Option<(SessionId, ImportedMessage)>,
}

/// A message without terms: indexing takes longer than storing, and nobody waits for it. Until
/// [`index`](crate::Store::index) has brought them, [`unindexed`](crate::Store::unindexed) tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedMessage {
    pub id: MessageId,
    pub role: Role,
    /// The message object exactly as it stands in the line.
    pub raw: Bytes,
    pub created_at: UnixMicros,
}

/// A stored line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
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
