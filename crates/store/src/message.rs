use bethink_transcript::{Message, MessageId, Role, Seq, SessionId, UnixMicros};
use bytes::Bytes;

#[cfg(doc)]
use crate::error::StoreError;

/// The index terms of a message: lower case, split, separated by spaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    pub user: String,
    pub assistant: String,
    pub tool_input: String,
    pub tool_result: String,
    /// Properties of the message that are not part of its text, as separate terms.
    pub marks: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    pub id: MessageId,
    pub role: Role,
    /// The message object exactly as it arrived.
    pub raw: Bytes,
    /// Whether the message is a copy of one in an imported file.
    pub recorded: bool,
    pub created_at: UnixMicros,
}

impl NewMessage {
    pub fn of(message: &Message, recorded: bool) -> Self {
        let Message { id, role, created_at, .. } = message;
        let raw = message.raw().clone();
        Self { id: id.clone(), role: *role, raw, recorded, created_at: *created_at }
    }
}

#[derive(Clone, Debug)]
pub struct Append {
    pub session: SessionId,
    pub messages: Vec<NewMessage>,
    /// Stores nothing if one of the messages is stored already: the result is [`StoreError::AlreadyStored`].
    pub only_new: bool,
    pub receipt: Option<Receipt>,
    pub at: UnixMicros,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendResult {
    /// The seq of every message in the request, in order, and whether the message was new.
    pub places: Vec<(Seq, bool)>,
    /// Newest seq of the session after the append.
    pub last_seq: Seq,
    /// The receipt was used before; `places` are the same as in the first answer.
    pub repeated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMessage {
    pub seq: Seq,
    pub id: MessageId,
    pub role: Role,
    pub raw: Bytes,
    /// Whether the message came from an imported file, in the form in which its recorder wrote it.
    pub recorded: bool,
    pub created_at: UnixMicros,
}

/// Selects messages with `after < seq < before`, at most `limit`, beginning at the lower end, or at the upper end with
/// `newest`. The result is ascending in both cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeqRange {
    pub after: Option<Seq>,
    pub before: Option<Seq>,
    pub limit: usize,
    /// Maximum size of all messages together, in ascending order. At least one message is returned.
    pub bytes: usize,
    pub newest: bool,
}

impl SeqRange {
    pub fn all() -> Self {
        Self { after: None, before: None, limit: usize::MAX, bytes: usize::MAX, newest: false }
    }

    pub fn from(seq: Seq) -> Self {
        Self { after: Some(Seq(seq.0.saturating_sub(1))), ..Self::all() }
    }
}

/// An `Idempotency-Key` with the fingerprint of its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub key: String,
    /// Hash of method, path and body: the same key with another request is a conflict.
    pub fingerprint: String,
}
