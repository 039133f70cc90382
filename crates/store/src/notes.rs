use bethink_transcript::{Seq, SessionId, UnixMicros};

use crate::error::StoreFuture;

/// Notes of sessions.
pub trait NotesStore {
    /// What is known of a session's notes; `None` before the first.
    fn notes(&self, id: SessionId) -> StoreFuture<'_, Option<NotesRecord>>;
    /// Replaces them whole.
    fn put_notes(&self, notes: NotesRecord) -> StoreFuture<'_, ()>;
}

/// What the daemon knows of a session's notes, beside the file that a person edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotesRecord {
    pub session: SessionId,
    /// What the daemon wrote last.
    pub text: String,
    /// Hash of the file that this replaced; empty if there was none. A file with this hash was not
    /// written yet when the daemon was killed.
    pub replaced: String,
    /// JSON of the daemon's own lines; its shape belongs to the engine that merges.
    pub written: String,
    /// Newest message that the notes cover.
    pub through: Seq,
    /// Tokens of history through that message.
    pub tokens: u64,
    /// Which strategy wrote them.
    pub strategy: String,
    pub updated_at: UnixMicros,
}
