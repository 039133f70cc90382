//! Parses stored messages.

use bethink_store::{SeqRange, StoredMessage};
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageMeta, Seq};

use crate::{Result, ServiceError};

/// Number of messages to read at once, so that a long session is not in memory twice.
pub const READ_BATCH: usize = 500;
/// Maximum size of the messages to read at once. A single message may be larger.
const READ_BATCH_BYTES: usize = 16 << 20;

/// Returns the range of the next messages to read, after `after`.
pub fn next_batch(after: Seq) -> SeqRange {
    SeqRange { after: Some(after), limit: READ_BATCH, bytes: READ_BATCH_BYTES, ..SeqRange::all() }
}

pub fn parse_stored(stored: StoredMessage) -> Result<Message> {
    let meta = MessageMeta { seq: stored.seq, id: stored.id, created_at: stored.created_at };
    let source = if stored.recorded { MessageSource::Provider } else { MessageSource::Client };
    Message::parse(meta, stored.raw, source)
        .map_err(|e| ServiceError::internal(format!("could not read message {}: {e}", stored.seq)))
}
