use std::collections::BTreeSet;

use bethink_transcript::{Seq, SessionId, UnixMicros};

use crate::error::StoreFuture;

/// The state of clients' hooks and transcripts: how far transcripts were read, and which memories were delivered.
pub trait HookStore {
    fn transcript_position(
        &self,
        session: SessionId,
        path: String,
    ) -> StoreFuture<'_, Option<TranscriptPosition>>;
    fn put_transcript_position(
        &self,
        session: SessionId,
        path: String,
        position: TranscriptPosition,
    ) -> StoreFuture<'_, ()>;
    /// Returns whether any transcript of this session has been read.
    fn has_transcript(&self, session: SessionId) -> StoreFuture<'_, bool>;
    /// Returns the places whose transcripts are followed, in the order in which they were added.
    fn transcript_places(&self) -> StoreFuture<'_, Vec<TranscriptPlace>>;
    /// Adds a place, or changes the time of an existing place.
    fn put_transcript_place(&self, place: TranscriptPlace) -> StoreFuture<'_, ()>;
    /// Returns the memories given to a client's conversation. `key` is the client's own id for the conversation.
    fn delivered_memories(
        &self,
        client: String,
        key: String,
    ) -> StoreFuture<'_, Option<DeliveredMemories>>;
    fn put_delivered_memories(
        &self,
        client: String,
        key: String,
        delivered: DeliveredMemories,
    ) -> StoreFuture<'_, ()>;
    fn delete_delivered_memories(&self, client: String, key: String) -> StoreFuture<'_, ()>;
}

/// How far a client's transcript has been read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptPosition {
    /// Number of bytes read, up to the end of a line.
    pub bytes: u64,
    /// Hash of all these bytes.
    pub hash: String,
    /// The newest message of the session that came from this transcript.
    pub through: Seq,
    /// Whether another writer, such as the gateway, adds the session's messages.
    pub elsewhere: bool,
}

/// A directory or a database in which an agent keeps its transcripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptPlace {
    /// The agent's name.
    pub agent: String,
    pub path: String,
    /// When everything in the place was last read.
    pub read_at: UnixMicros,
}

/// Memories that a conversation has received, so that none is sent twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveredMemories {
    /// Scope and name of each memory.
    pub names: BTreeSet<String>,
    /// Total size of the memories' texts.
    pub bytes: usize,
}
