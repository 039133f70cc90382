//! Reading history.

use bethink_store::{SeqRange, StoreError, StoreResult, StoredMessage};
use bethink_store_format::{ROLES, is_whole, number_in};
use bethink_transcript::{Seq, SessionId};
use sqlx::AssertSqlSafe;

use crate::sql::{Row, sql};
use crate::store::PostgresStore;

const OF_SESSION: &str = "
    SELECT session, seq, message_id, role, recorded, created_at, checksum, raw
    FROM messages
    WHERE session = $1
      AND seq > $2
      AND seq < $3
    ORDER BY seq";

/// Computing the length of a stored value does not read the value.
const SIZES: &str = "
    SELECT seq, octet_length(raw)::BIGINT
    FROM messages
    WHERE session = $1
      AND seq > $2
      AND seq < $3
    ORDER BY seq
    LIMIT $4";

const AT: &str = "
    SELECT messages.session, messages.seq, message_id, role, recorded, created_at, checksum, raw
    FROM unnest($1, $2) WITH ORDINALITY AS asked (session, seq, place)
    JOIN messages
      ON messages.session = asked.session
     AND messages.seq = asked.seq
    ORDER BY asked.place";

pub(crate) async fn read(
    store: &PostgresStore,
    id: SessionId,
    range: SeqRange,
) -> StoreResult<Vec<StoredMessage>> {
    let before = match range.bytes {
        usize::MAX => range.before,
        most => end_of_batch(store, id, range, most).await?.or(range.before),
    };
    let order = if range.newest { "DESC" } else { "" };
    let statement = sql(AssertSqlSafe(format!("{OF_SESSION} {order} LIMIT $4")))
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
    store: &PostgresStore,
    id: SessionId,
    range: SeqRange,
    most: usize,
) -> StoreResult<Option<Seq>> {
    let statement = sql(SIZES)
        .bind(id)
        .bind(range.after.unwrap_or_default())
        .bind(range.before.unwrap_or(Seq(u64::MAX)))
        .bind(range.limit);
    let read = |row: &Row| Ok((row.get::<Seq>(0)?, row.get::<usize>(1)?));
    let mut total = 0;
    let too_many = store.all(statement, read).await?.into_iter().skip_while(|(_, size)| {
        let is_first = total == 0;
        total += size;
        is_first || total <= most
    });
    Ok(too_many.map(|(seq, _)| seq).next())
}

pub(crate) async fn read_at(
    store: &PostgresStore,
    places: Vec<(SessionId, Seq)>,
) -> StoreResult<Vec<(SessionId, StoredMessage)>> {
    let (sessions, seqs): (Vec<_>, Vec<_>) = places.into_iter().unzip();
    let at = sql(AT).bind_list(sessions).bind_list(seqs);
    store.all(at, |row| Ok((row.get("session")?, message(row)?))).await
}

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
    let numbers =
        [number_in(&ROLES, &stored.role), i64::from(stored.recorded), stored.created_at.0];
    let place = (session, stored.seq.0, stored.id.as_str());
    if !is_whole(row.get("checksum")?, place, numbers, &stored.raw) {
        let why = format!("message {} of session {session} is corrupted", stored.seq);
        return Err(StoreError::Damaged(why));
    }
    Ok(stored)
}
