//! Parses stored messages.

use bethink_store::StoredMessage;
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageMeta};

use crate::{Result, ServiceError};

/// Number of messages to read at once, so that a long session is not in memory twice.
pub const READ_BATCH: usize = 500;

pub fn parse_stored(stored: StoredMessage) -> Result<Message> {
    let meta = MessageMeta { seq: stored.seq, id: stored.id, created_at: stored.created_at };
    let source = if stored.recorded { MessageSource::Provider } else { MessageSource::Client };
    Message::parse(meta, stored.raw, source)
        .map_err(|e| ServiceError::internal(format!("could not read message {}: {e}", stored.seq)))
}
