use bethink_transcript::{Seq, SessionId, UnixMicros};

use crate::error::StoreFuture;

/// The notes of sessions.
pub trait NotesStore {
    /// Returns the record of a session's notes; `None` before they are first written.
    fn notes(&self, id: SessionId) -> StoreFuture<'_, Option<NotesRecord>>;
    /// Replaces the whole record.
    fn put_notes(&self, notes: NotesRecord) -> StoreFuture<'_, ()>;
}

/// The daemon's record of a session's notes, in addition to the file that a person edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotesRecord {
    pub session: SessionId,
    /// The text that the daemon, or a person through it, wrote last.
    pub text: String,
    /// Hash (BLAKE3, hexadecimal) of the file that this text replaced; empty if there was none. If the file still has this hash, the daemon
    /// was killed before it wrote the new file.
    pub replaced: String,
    /// JSON of the daemon's own lines, in the format of the engine that merges notes.
    pub written: String,
    /// Newest message that the notes cover.
    pub through: Seq,
    /// Number of tokens in the history up to and including that message.
    pub tokens: u64,
    /// Which strategy wrote the notes.
    pub strategy: String,
    pub updated_at: UnixMicros,
}
