//! Terms, which come after their messages, and the mark that tells from where they are still to come.

use std::collections::HashMap;

use bethink_store::{IndexBatch, Result, SeqRange};
use bethink_transcript::{Seq, SessionId};
use sqlx::SqlitePool;

use crate::convert::{not_found, seq, seq_column};
use crate::error::from_sqlx;
use crate::rows::{Entry, insert_terms};
use crate::sessions;
use crate::writer::Desk;

const UNINDEXED: &str = "
    SELECT indexed_seq, last_seq
    FROM sessions
    WHERE id = ?";

/// Messages that are not indexed yet, up to a place.
const NUMBERS: &str = "
    SELECT messages.seq, messages.number
    FROM sessions
    JOIN messages
      ON messages.session = sessions.id
     AND messages.seq > sessions.indexed_seq
     AND messages.seq <= ?2
    WHERE sessions.id = ?1";

/// No further than to what is there: what comes later is not indexed by this.
const MOVE: &str = "
    UPDATE sessions
    SET indexed_seq = max(indexed_seq, min(?2, last_seq))
    WHERE id = ?1";

pub(crate) async fn unindexed(readers: &SqlitePool, id: SessionId) -> Result<Option<SeqRange>> {
    let row: Option<(i64, i64)> = sqlx::query_as(UNINDEXED)
        .bind(id.0.as_bytes().to_vec())
        .fetch_optional(readers)
        .await
        .map_err(from_sqlx)?;
    let (indexed, last) = row.ok_or_else(|| not_found("session", id))?;
    Ok((indexed < last).then(|| SeqRange {
        after: Some(seq(indexed)),
        before: Some(seq(last).next()),
        ..SeqRange::all()
    }))
}

pub(crate) async fn index(desk: &mut Desk, batch: IndexBatch) -> Result<()> {
    let session = batch.session;
    sessions::must_exist(&mut desk.connection, session).await?;
    let through = seq_column(batch.through);
    let rows: Vec<(i64, i64)> = sqlx::query_as(NUMBERS)
        .bind(session.0.as_bytes().to_vec())
        .bind(through)
        .fetch_all(&mut desk.connection)
        .await
        .map_err(from_sqlx)?;
    let numbers: HashMap<Seq, i64> = rows.into_iter().map(|(at, n)| (seq(at), n)).collect();
    let entries: Vec<_> = batch
        .entries
        .iter()
        .filter_map(|(at, terms)| Some(Entry { number: *numbers.get(at)?, session, terms }))
        .collect();
    insert_terms(&entries, &mut desk.connection).await.map_err(from_sqlx)?;
    sqlx::query(MOVE)
        .bind(session.0.as_bytes().to_vec())
        .bind(through)
        .execute(&mut desk.connection)
        .await
        .map(drop)
        .map_err(from_sqlx)
}
