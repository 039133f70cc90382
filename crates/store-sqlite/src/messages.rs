//! Reading history.

use bethink_store::{SeqRange, StoreResult, StoredMessage};
use bethink_transcript::{Seq, SessionId};
use serde_json::json;
use sqlx::AssertSqlSafe;

use crate::checksum::message;
use crate::sql::{Row, hex, sql};
use crate::store::SqliteStore;

const OF_SESSION: &str = "
    SELECT session, seq, message_id, role, recorded, created_at, checksum, raw
    FROM messages
    WHERE session = ?
      AND seq > ?
      AND seq < ?
    ORDER BY seq";

/// Computing the `length` of a blob does not read the blob.
const SIZES: &str = "
    SELECT seq, length(raw)
    FROM messages
    WHERE session = ?
      AND seq > ?
      AND seq < ?
    ORDER BY seq
    LIMIT ?";

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
    let before = match range.bytes {
        usize::MAX => range.before,
        most => end_of_batch(store, id, range, most).await?.or(range.before),
    };
    let order = if range.newest { "DESC" } else { "" };
    let statement = sql(AssertSqlSafe(format!("{OF_SESSION} {order} LIMIT ?")))
        .bind(id)
        .bind(range.after.unwrap_or_default())
        .bind(before.unwrap_or(Seq(u64::MAX)))
        .bind(range.limit);
    let mut messages = store.all_of(id, statement, message).await?;
    if range.newest {
        messages.reverse();
    }
    Ok(messages)
}

/// Returns the first message of the range that does not fit in `most` bytes together with the messages before it. Never
/// returns the first message of the range.
async fn end_of_batch(
    store: &SqliteStore,
    id: SessionId,
    range: SeqRange,
    most: usize,
) -> StoreResult<Option<Seq>> {
    let statement = sql(SIZES)
        .bind(id)
        .bind(range.after.unwrap_or_default())
        .bind(range.before.unwrap_or(Seq(u64::MAX)))
        .bind(range.limit);
    let read = |row: &Row| Ok((row.get::<Seq>(0)?, row.get::<i64>(1)?));
    let mut total = 0;
    let too_many = store.all(statement, read).await?.into_iter().skip_while(|(_, size)| {
        let is_first = total == 0;
        total += usize::try_from(*size).unwrap_or(0);
        is_first || total <= most
    });
    Ok(too_many.map(|(seq, _)| seq).next())
}

pub(crate) async fn read_at(
    store: &SqliteStore,
    places: Vec<(SessionId, Seq)>,
) -> StoreResult<Vec<(SessionId, StoredMessage)>> {
    let asked: Vec<_> = places.into_iter().map(|(session, seq)| (hex(session), seq)).collect();
    let statement = sql(AT).bind(json!(asked).to_string());
    let read = |row: &Row| Ok((row.get::<i64>("place")?, (row.get("session")?, message(row)?)));
    let mut found = store.all(statement, read).await?;
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, found)| found).collect())
}
