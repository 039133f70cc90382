//! Reads messages, and verifies their checksums.

use bethink_store::{StoreError, StoreResult, StoredMessage};
use bethink_store_format::is_whole;
use bethink_transcript::SessionId;

use crate::sql::Row;

/// Reads a message. Fails if it differs from what was written.
pub(crate) fn message(row: &Row) -> StoreResult<StoredMessage> {
    let session: SessionId = row.get("session")?;
    let stored = StoredMessage {
        seq: row.get("seq")?,
        id: row.get("message_id")?,
        role: row.get("role")?,
        raw: row.get("raw")?,
        recorded: row.get("recorded")?,
        created_at: row.get("created_at")?,
    };
    let numbers = [row.get("role")?, row.get("recorded")?, row.get("created_at")?];
    let place = (session, stored.seq.0, stored.id.as_str());
    if !is_whole(row.get("checksum")?, place, numbers, &stored.raw) {
        let why = format!("message {} of session {session} is corrupted", stored.seq);
        return Err(StoreError::Damaged(why));
    }
    Ok(stored)
}
