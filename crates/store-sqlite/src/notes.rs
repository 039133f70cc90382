//! What is known of each session's notes: one row, replaced whole.

use bethink_store::{Notes, Result};
use bethink_transcript::{SessionId, UnixMicros};
use sqlx::{FromRow, SqlitePool};

use crate::convert::{integer, seq, seq_column, unsigned};
use crate::error::from_sqlx;
use crate::sessions;
use crate::writer::Desk;

const READ: &str = "
    SELECT text, replaced, written, through_seq, tokens, strategy, updated_at
    FROM notes
    WHERE session = ?";

const PUT: &str = "
    INSERT INTO notes (
        session, text, replaced, written, through_seq, tokens, strategy, updated_at
    )
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (session) DO UPDATE
    SET text        = excluded.text,
        replaced    = excluded.replaced,
        written     = excluded.written,
        through_seq = excluded.through_seq,
        tokens      = excluded.tokens,
        strategy    = excluded.strategy,
        updated_at  = excluded.updated_at";

#[derive(FromRow)]
struct Row {
    text: String,
    replaced: String,
    written: String,
    through_seq: i64,
    tokens: i64,
    strategy: String,
    updated_at: i64,
}

pub(crate) async fn read(readers: &SqlitePool, id: SessionId) -> Result<Option<Notes>> {
    let row: Option<Row> = sqlx::query_as(READ)
        .bind(id.0.as_bytes().to_vec())
        .fetch_optional(readers)
        .await
        .map_err(from_sqlx)?;
    if row.is_none() {
        sessions::must_exist(readers, id).await?;
    }
    Ok(row.map(|row| row.into_notes(id)))
}

pub(crate) async fn put(desk: &mut Desk, notes: Notes) -> Result<()> {
    sessions::must_exist(&mut desk.connection, notes.session).await?;
    sqlx::query(PUT)
        .bind(notes.session.0.as_bytes().to_vec())
        .bind(notes.text)
        .bind(notes.replaced)
        .bind(notes.written)
        .bind(seq_column(notes.through))
        .bind(integer(notes.tokens))
        .bind(notes.strategy)
        .bind(notes.updated_at.0)
        .execute(&mut desk.connection)
        .await
        .map(drop)
        .map_err(from_sqlx)
}

impl Row {
    fn into_notes(self, session: SessionId) -> Notes {
        Notes {
            session,
            text: self.text,
            replaced: self.replaced,
            written: self.written,
            through: seq(self.through_seq),
            tokens: unsigned(self.tokens),
            strategy: self.strategy,
            updated_at: UnixMicros(self.updated_at),
        }
    }
}
