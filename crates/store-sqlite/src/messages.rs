//! Reading history.

use bethink_store::{SeqRange, StoreError, StoreResult, StoredMessage};
use bethink_transcript::{Seq, SessionId};
use serde_json::json;
use sqlx::AssertSqlSafe;

use crate::append::checksum;
use crate::sql::{Row, hex, sql};
use crate::store::SqliteStore;

const OF_SESSION: &str = "
    SELECT session, seq, message_id, role, recorded, created_at, checksum, raw
    FROM messages
    WHERE session = ?
      AND seq > ?
      AND seq < ?
    ORDER BY seq";

const AT: &str = "
    SELECT asked.key AS place, session, seq, message_id, role, recorded, created_at, checksum, raw
    FROM json_each(?) AS asked
    CROSS JOIN messages
      ON messages.session = unhex(asked.value ->> 0)
     AND messages.seq = asked.value ->> 1";

pub(crate) async fn read(
    store: &SqliteStore,
    id: SessionId,
    range: SeqRange,
) -> StoreResult<Vec<StoredMessage>> {
    let order = if range.newest { "DESC" } else { "" };
    let statement = sql(AssertSqlSafe(format!("{OF_SESSION} {order} LIMIT ?")))
        .bind(id)
        .bind(range.after.unwrap_or_default())
        .bind(range.before.unwrap_or(Seq(u64::MAX)))
        .bind(range.limit);
    let messages = store.all_of(id, statement, message).await;
    let mut messages = messages.inspect_err(|error| note_damage(store, error))?;
    if range.newest {
        messages.reverse();
    }
    Ok(messages)
}

pub(crate) async fn read_at(
    store: &SqliteStore,
    places: Vec<(SessionId, Seq)>,
) -> StoreResult<Vec<(SessionId, StoredMessage)>> {
    let asked: Vec<_> = places.into_iter().map(|(session, seq)| (hex(session), seq)).collect();
    let statement = sql(AT).bind(json!(asked).to_string());
    let read = |row: &Row| Ok((row.get::<i64>("place")?, (row.get("session")?, message(row)?)));
    let found = store.all(statement, read).await;
    let mut found = found.inspect_err(|error| note_damage(store, error))?;
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, found)| found).collect())
}

fn note_damage(store: &SqliteStore, error: &StoreError) {
    if let StoreError::Damaged(fault) = error {
        store.note_damage(fault);
    }
}

/// A message is served only as it was written.
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
    let expected = checksum(session, stored.seq.0, stored.id.as_str(), &[&stored.raw]);
    if row.get::<i64>("checksum")? != expected {
        let why = format!("message {} of session {session} is corrupted", stored.seq);
        return Err(StoreError::Damaged(why));
    }
    Ok(stored)
}
