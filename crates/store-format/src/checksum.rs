//! Checksums of messages and imported lines.

use bethink_transcript::SessionId;

/// Returns what the checksum of a message covers in addition to its identity and bytes.
pub fn facts(role: i64, recorded: i64, created_at: i64) -> Vec<u8> {
    [role, recorded, created_at].into_iter().flat_map(i64::to_le_bytes).collect()
}

/// Returns whether a message has this checksum. `numbers` are the message's role, whether it was recorded, and its
/// time. Checksums by earlier versions did not cover these.
pub fn is_whole(
    stored: i64,
    (session, seq, id): (SessionId, u64, &str),
    numbers: [i64; 3],
    raw: &[u8],
) -> bool {
    let [role, recorded, created_at] = numbers;
    stored == checksum(session, seq, id, &[raw, &facts(role, recorded, created_at)])
        || stored == checksum(session, seq, id, &[raw])
}

/// Returns the checksum of an imported line, which consists of these parts.
pub fn record_checksum(session: SessionId, line: u64, parts: [&[u8]; 3]) -> i64 {
    checksum(session, line, "", &parts)
}

/// Returns the checksum of a message's identity and content. 64 bits are enough to detect corruption.
pub fn checksum(session: SessionId, place: u64, id: &str, parts: &[&[u8]]) -> i64 {
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
