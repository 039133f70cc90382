//! Checksums of messages and imported lines.

use bethink_store::{StoreError, StoreResult, StoredMessage};
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

/// Returns what the checksum of a message covers in addition to its identity and bytes.
pub(crate) fn facts(role: i64, recorded: i64, created_at: i64) -> Vec<u8> {
    [role, recorded, created_at].into_iter().flat_map(i64::to_le_bytes).collect()
}

/// Returns whether a message has this checksum. `numbers` are the message's role, whether it was recorded, and its
/// time. Checksums by earlier versions did not cover these.
pub(crate) fn is_whole(
    stored: i64,
    (session, seq, id): (SessionId, u64, &str),
    numbers: [i64; 3],
    raw: &[u8],
) -> bool {
    let [role, recorded, created_at] = numbers;
    stored == checksum(session, seq, id, &[raw, &facts(role, recorded, created_at)])
        || stored == checksum(session, seq, id, &[raw])
}

/// Returns the checksum of a message's identity and content. 64 bits are enough to detect corruption.
pub(crate) fn checksum(session: SessionId, place: u64, id: &str, parts: &[&[u8]]) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(session.0.as_bytes());
    hasher.update(&place.to_le_bytes());
    hasher.update(id.as_bytes());
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    i64::from_le_bytes(first)
}
