//! Terms that come after their messages, and the marks that tell which are still to come.

use std::collections::HashMap;

use bethink_store::{IndexBatch, Result, SeqRange};
use bethink_transcript::{Seq, SessionId};
use sqlx::{SqliteConnection, SqlitePool};

use crate::convert::{seq, seq_column};
use crate::error::from_sqlx;
use crate::rows::{Entry, insert_terms};
use crate::sessions;
use crate::writer::Desk;

/// A stretch that begins where another ends continues it.
const MARK: &str = "
    INSERT INTO unindexed (session, first_seq, last_seq)
    VALUES (
        ?1,
        coalesce((SELECT first_seq FROM unindexed WHERE session = ?1 AND last_seq = ?2 - 1), ?2),
        ?3
    )
    ON CONFLICT (session, first_seq) DO UPDATE
    SET last_seq = excluded.last_seq";

/// After a recovery without an analyser no message has terms.
pub(crate) const MARK_ALL: &str = "
    INSERT INTO unindexed (session, first_seq, last_seq)
    SELECT session, min(seq), max(seq)
    FROM messages
    GROUP BY session";

const FIRST: &str = "
    SELECT first_seq, last_seq
    FROM unindexed
    WHERE session = ?
    ORDER BY first_seq
    LIMIT 1";

/// Messages of the unindexed stretches up to a place.
const NUMBERS: &str = "
    SELECT messages.seq, messages.number
    FROM unindexed
    JOIN messages
      ON messages.session = unindexed.session
     AND messages.seq BETWEEN unindexed.first_seq AND min(unindexed.last_seq, ?2)
    WHERE unindexed.session = ?1
      AND unindexed.first_seq <= ?2";

const MOVE: [&str; 2] = [
    "DELETE FROM unindexed
     WHERE session = ?1
       AND last_seq <= ?2",
    "UPDATE unindexed
     SET first_seq = ?2 + 1
     WHERE session = ?1
       AND first_seq <= ?2",
];

/// Notes stretches of messages that were stored without terms.
pub(crate) async fn mark(
    connection: &mut SqliteConnection,
    stretches: &[(SessionId, Seq, Seq)],
) -> Result<()> {
    for (session, first, last) in stretches {
        sqlx::query(MARK)
            .bind(session.0.as_bytes().to_vec())
            .bind(seq_column(*first))
            .bind(seq_column(*last))
            .execute(&mut *connection)
            .await
            .map_err(from_sqlx)?;
    }
    Ok(())
}

pub(crate) async fn unindexed(readers: &SqlitePool, id: SessionId) -> Result<Option<SeqRange>> {
    let stretch: Option<(i64, i64)> = sqlx::query_as(FIRST)
        .bind(id.0.as_bytes().to_vec())
        .fetch_optional(readers)
        .await
        .map_err(from_sqlx)?;
    let Some((first, last)) = stretch else {
        sessions::must_exist(readers, id).await?;
        return Ok(None);
    };
    Ok(Some(SeqRange { before: Some(seq(last).next()), ..SeqRange::from(seq(first)) }))
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
    for statement in MOVE {
        sqlx::query(statement)
            .bind(session.0.as_bytes().to_vec())
            .bind(through)
            .execute(&mut desk.connection)
            .await
            .map_err(from_sqlx)?;
    }
    Ok(())
}
