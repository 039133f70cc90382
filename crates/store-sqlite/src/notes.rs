//! The record of each session's notes: one row, replaced as a whole.

use bethink_store::{NotesRecord, NotesStore, StoreFuture, StoreResult};
use bethink_transcript::SessionId;

use crate::sql::{Row, sql};
use crate::store::SqliteStore;

const READ: &str = "
    SELECT *
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
        updated_at  = excluded.updated_at
    RETURNING *";

impl NotesStore for SqliteStore {
    fn notes(&self, id: SessionId) -> StoreFuture<'_, Option<NotesRecord>> {
        Box::pin(async move {
            let mut rows = self.all_of(id, sql(READ).bind(id), notes).await?;
            Ok(rows.pop())
        })
    }

    fn put_notes(&self, notes: NotesRecord) -> StoreFuture<'_, ()> {
        let put = sql(PUT)
            .bind(notes.session)
            .bind(notes.text)
            .bind(notes.replaced)
            .bind(notes.written)
            .bind(notes.through)
            .bind(notes.tokens)
            .bind(notes.strategy)
            .bind(notes.updated_at);
        self.seal_for(notes.session, "notes", put)
    }
}

fn notes(row: &Row) -> StoreResult<NotesRecord> {
    Ok(NotesRecord {
        session: row.get("session")?,
        text: row.get("text")?,
        replaced: row.get("replaced")?,
        written: row.get("written")?,
        through: row.get("through_seq")?,
        tokens: row.get("tokens")?,
        strategy: row.get("strategy")?,
        updated_at: row.get("updated_at")?,
    })
}
