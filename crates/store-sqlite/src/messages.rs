//! Reading history.

use bethink_store::{Result, SeqRange, StoreError, StoredMessage};
use bethink_transcript::{Seq, SessionId, UnixMicros};
use bytes::Bytes;
use sqlx::{FromRow, SqlitePool};

use crate::convert::{limit, message_id, role, seq, seq_column, session_id};
use crate::error::from_sqlx;
use crate::sessions;

const OLDEST_FIRST: &str = "
    SELECT seq, message_id, role, recorded, created_at, raw
    FROM messages
    WHERE session = ?
      AND seq > ?
      AND seq < ?
    ORDER BY seq
    LIMIT ?";

const NEWEST_FIRST: &str = "
    SELECT seq, message_id, role, recorded, created_at, raw
    FROM messages
    WHERE session = ?
      AND seq > ?
      AND seq < ?
    ORDER BY seq DESC
    LIMIT ?";

const AT: &str = "
    SELECT asked.key AS place, session, seq, message_id, role, recorded, created_at, raw
    FROM json_each(?) AS asked
    CROSS JOIN messages
      ON messages.session = unhex(asked.value ->> 0)
     AND messages.seq = asked.value ->> 1";

#[derive(FromRow)]
struct PlacedRow {
    place: i64,
    session: Vec<u8>,
    #[sqlx(flatten)]
    row: Row,
}

#[derive(FromRow)]
pub(crate) struct Row {
    seq: i64,
    message_id: String,
    role: i64,
    recorded: bool,
    created_at: i64,
    raw: Vec<u8>,
}

pub(crate) async fn read(
    readers: &SqlitePool,
    id: SessionId,
    range: SeqRange,
) -> Result<Vec<StoredMessage>> {
    let mut rows: Vec<Row> = sqlx::query_as(if range.newest { NEWEST_FIRST } else { OLDEST_FIRST })
        .bind(id.0.as_bytes().to_vec())
        .bind(range.after.map_or(0, seq_column))
        .bind(range.before.map_or(i64::MAX, seq_column))
        .bind(limit(range.limit))
        .fetch_all(readers)
        .await
        .map_err(from_sqlx)?;
    if rows.is_empty() {
        sessions::must_exist(readers, id).await?;
    }
    if range.newest {
        rows.reverse();
    }
    rows.into_iter().map(Row::into_message).collect()
}

pub(crate) async fn read_at(
    readers: &SqlitePool,
    places: Vec<(SessionId, Seq)>,
) -> Result<Vec<(SessionId, StoredMessage)>> {
    let asked: Vec<_> = places
        .into_iter()
        .map(|(session, seq)| (session.0.simple().to_string(), seq_column(seq)))
        .collect();
    let asked = serde_json::to_string(&asked).map_err(|e| StoreError::Failed(e.to_string()))?;
    let mut rows: Vec<PlacedRow> =
        sqlx::query_as(AT).bind(asked).fetch_all(readers).await.map_err(from_sqlx)?;
    rows.sort_by_key(|placed| placed.place);
    rows.into_iter()
        .map(|placed| Ok((session_id(&placed.session)?, placed.row.into_message()?)))
        .collect()
}

impl Row {
    pub(crate) fn into_message(self) -> Result<StoredMessage> {
        Ok(StoredMessage {
            seq: seq(self.seq),
            id: message_id(&self.message_id)?,
            role: role(self.role)?,
            raw: Bytes::from(self.raw),
            recorded: self.recorded,
            created_at: UnixMicros(self.created_at),
        })
    }
}
