//! Spans of sessions with the texts that stand for them, staged and committed.

use bethink_store::{Collapse, NewDecision, Result, StoreError};
use bethink_transcript::{CollapseId, SessionId, UnixMicros};
use sqlx::{FromRow, SqlitePool};

use crate::convert::{collapse_id, integer, seq, seq_column, unsigned};
use crate::decisions;
use crate::error::from_sqlx;
use crate::sessions;
use crate::writer::Desk;

const READ: &str = "
    SELECT *
    FROM collapses
    WHERE session = ?
    ORDER BY first_seq";

const DROP_STAGED: &str = "
    DELETE FROM collapses
    WHERE session = ?
      AND id <> ?
      AND first_seq <= ?
      AND last_seq >= ?
      AND committed_at IS NULL";

const IN_THE_WAY: &str = "
    SELECT count(*)
    FROM collapses
    WHERE session = ?
      AND id <> ?
      AND first_seq <= ?
      AND last_seq >= ?";

const PUT: &str = "
    INSERT INTO collapses (
        session, id, first_seq, last_seq, text, tokens_before, tokens, strategy, staged_after,
        staged_at, committed_after, committed_at
    )
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (session, id) DO UPDATE
    SET committed_after = coalesce(committed_after, excluded.committed_after),
        committed_at    = coalesce(committed_at, excluded.committed_at)";

#[derive(FromRow)]
struct Row {
    id: Vec<u8>,
    first_seq: i64,
    last_seq: i64,
    text: String,
    tokens_before: i64,
    tokens: i64,
    strategy: String,
    staged_after: i64,
    staged_at: i64,
    committed_after: Option<i64>,
    committed_at: Option<i64>,
}

pub(crate) async fn read(readers: &SqlitePool, id: SessionId) -> Result<Vec<Collapse>> {
    let rows: Vec<Row> = sqlx::query_as(READ)
        .bind(id.0.as_bytes().to_vec())
        .fetch_all(readers)
        .await
        .map_err(from_sqlx)?;
    if rows.is_empty() {
        sessions::must_exist(readers, id).await?;
    }
    rows.into_iter().map(|row| row.into_collapse(id)).collect()
}

pub(crate) async fn put(
    desk: &mut Desk,
    session: SessionId,
    spans: Vec<Collapse>,
    with: Vec<NewDecision>,
) -> Result<()> {
    decisions::add(desk, session, with).await?;
    for span in spans {
        make_room(desk, session, &span).await?;
        sqlx::query(PUT)
            .bind(session.0.as_bytes().to_vec())
            .bind(span.id.0.as_bytes().to_vec())
            .bind(seq_column(span.first_seq))
            .bind(seq_column(span.last_seq))
            .bind(span.text)
            .bind(integer(span.tokens_before))
            .bind(integer(span.tokens))
            .bind(span.strategy)
            .bind(seq_column(span.staged_after))
            .bind(span.staged_at.0)
            .bind(span.committed.map(|(after, _)| seq_column(after)))
            .bind(span.committed.map(|(_, at)| at.0))
            .execute(&mut desk.connection)
            .await
            .map_err(from_sqlx)?;
    }
    Ok(())
}

/// What is only staged gives way; what was shown does not.
async fn make_room(desk: &mut Desk, session: SessionId, span: &Collapse) -> Result<()> {
    sqlx::query(DROP_STAGED)
        .bind(session.0.as_bytes().to_vec())
        .bind(span.id.0.as_bytes().to_vec())
        .bind(seq_column(span.last_seq))
        .bind(seq_column(span.first_seq))
        .execute(&mut desk.connection)
        .await
        .map_err(from_sqlx)?;
    let shown: i64 = sqlx::query_scalar(IN_THE_WAY)
        .bind(session.0.as_bytes().to_vec())
        .bind(span.id.0.as_bytes().to_vec())
        .bind(seq_column(span.last_seq))
        .bind(seq_column(span.first_seq))
        .fetch_one(&mut desk.connection)
        .await
        .map_err(from_sqlx)?;
    if shown > 0 {
        return Err(StoreError::Conflict(format!(
            "messages {} to {} are in part shown as a text already",
            span.first_seq, span.last_seq
        )));
    }
    Ok(())
}

impl Row {
    fn into_collapse(self, session: SessionId) -> Result<Collapse> {
        let id: CollapseId = collapse_id(&self.id)?;
        let committed = self.committed_after.zip(self.committed_at);
        Ok(Collapse {
            id,
            session,
            first_seq: seq(self.first_seq),
            last_seq: seq(self.last_seq),
            text: self.text,
            tokens_before: unsigned(self.tokens_before),
            tokens: unsigned(self.tokens),
            strategy: self.strategy,
            staged_after: seq(self.staged_after),
            staged_at: UnixMicros(self.staged_at),
            committed: committed.map(|(after, at)| (seq(after), UnixMicros(at))),
        })
    }
}
