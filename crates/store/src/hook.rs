use std::collections::BTreeSet;

use bethink_transcript::{Seq, SessionId};

use crate::error::StoreFuture;

/// What hooks of clients brought, and were given.
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
    /// Whether any transcript of this session was read.
    fn has_transcript(&self, session: SessionId) -> StoreFuture<'_, bool>;
    /// What a client's conversation was given, by the client's name and its own id of the conversation.
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

/// How far a client's transcript was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptPosition {
    /// Through the end of a line.
    pub bytes: u64,
    /// Of all bytes before.
    pub hash: String,
    /// The newest message of the session that came from this transcript.
    pub through: Seq,
    /// Another writer, such as the gateway, adds the session's messages.
    pub elsewhere: bool,
}

/// Memories that a conversation was given, so that none is given twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveredMemories {
    /// Scope and name of each.
    pub names: BTreeSet<String>,
    /// Of their texts together.
    pub bytes: usize,
}
