//! Boundaries of a session, made and undone.

use bethink_store::{Compaction, NewDecision, Result, StoreError};
use bethink_transcript::{CompactionId, SessionId, UnixMicros};
use sqlx::{FromRow, SqlitePool};

use crate::convert::{compaction_id, integer, not_found, seq, seq_column, session_id, unsigned};
use crate::decisions;
use crate::error::{from_sqlx, is_unique_violation};
use crate::sessions;
use crate::writer::Desk;

const READ: &str = "
    SELECT *
    FROM compactions
    WHERE session = ?
    ORDER BY number";

const INSERT: &str = "
    INSERT INTO compactions (
        id, session, \"trigger\", level, first_seq, last_seq, kept_from, made_after, tokens_before,
        tokens_after, summary, summary_tokens, fidelity, detail, created_at, undone_at
    )
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const UNDO: &str = "
    UPDATE compactions
    SET undone_at = coalesce(undone_at, ?)
    WHERE id = ?
      AND session = ?
    RETURNING *";

#[derive(FromRow)]
struct Row {
    id: Vec<u8>,
    session: Vec<u8>,
    trigger: String,
    level: String,
    first_seq: i64,
    last_seq: i64,
    kept_from: i64,
    made_after: i64,
    tokens_before: i64,
    tokens_after: i64,
    summary: String,
    summary_tokens: i64,
    fidelity: f64,
    detail: String,
    created_at: i64,
    undone_at: Option<i64>,
}

pub(crate) async fn read(readers: &SqlitePool, id: SessionId) -> Result<Vec<Compaction>> {
    let rows: Vec<Row> = sqlx::query_as(READ)
        .bind(id.0.as_bytes().to_vec())
        .fetch_all(readers)
        .await
        .map_err(from_sqlx)?;
    if rows.is_empty() {
        sessions::must_exist(readers, id).await?;
    }
    rows.into_iter().map(Row::into_compaction).collect()
}

pub(crate) async fn add(desk: &mut Desk, new: Compaction, with: Vec<NewDecision>) -> Result<()> {
    let id = new.id;
    decisions::add(desk, new.session, with).await?;
    sqlx::query(INSERT)
        .bind(new.id.0.as_bytes().to_vec())
        .bind(new.session.0.as_bytes().to_vec())
        .bind(new.trigger)
        .bind(new.level)
        .bind(seq_column(new.first_seq))
        .bind(seq_column(new.last_seq))
        .bind(seq_column(new.kept_from))
        .bind(seq_column(new.made_after))
        .bind(integer(new.tokens_before))
        .bind(integer(new.tokens_after))
        .bind(new.summary)
        .bind(integer(new.summary_tokens))
        .bind(new.fidelity)
        .bind(new.detail)
        .bind(new.created_at.0)
        .bind(new.undone_at.map(|at| at.0))
        .execute(&mut desk.connection)
        .await
        .map_err(|error| match is_unique_violation(&error) {
            true => StoreError::Conflict(format!("there is a compaction {id} already")),
            false => from_sqlx(error),
        })?;
    Ok(())
}

pub(crate) async fn undo(
    desk: &mut Desk,
    session: SessionId,
    id: CompactionId,
    at: UnixMicros,
) -> Result<Compaction> {
    let row: Option<Row> = sqlx::query_as(UNDO)
        .bind(at.0)
        .bind(id.0.as_bytes().to_vec())
        .bind(session.0.as_bytes().to_vec())
        .fetch_optional(&mut desk.connection)
        .await
        .map_err(from_sqlx)?;
    row.ok_or_else(|| not_found("compaction", id))?.into_compaction()
}

impl Row {
    fn into_compaction(self) -> Result<Compaction> {
        Ok(Compaction {
            id: compaction_id(&self.id)?,
            session: session_id(&self.session)?,
            trigger: self.trigger,
            level: self.level,
            first_seq: seq(self.first_seq),
            last_seq: seq(self.last_seq),
            kept_from: seq(self.kept_from),
            made_after: seq(self.made_after),
            tokens_before: unsigned(self.tokens_before),
            tokens_after: unsigned(self.tokens_after),
            summary: self.summary,
            summary_tokens: unsigned(self.summary_tokens),
            fidelity: self.fidelity,
            detail: self.detail,
            created_at: UnixMicros(self.created_at),
            undone_at: self.undone_at.map(UnixMicros),
        })
    }
}
