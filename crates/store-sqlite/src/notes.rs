//! The record of each session's notes: one row, replaced as a whole.

use bethink_store::{NotesRecord, NotesStore, StoreFuture};
use bethink_transcript::SessionId;

use crate::record::Record;
use crate::sql::sql;
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
            let mut rows = self.all_of(id, sql(READ).bind(id), Record::read).await?;
            Ok(rows.pop())
        })
    }

    fn put_notes(&self, notes: NotesRecord) -> StoreFuture<'_, ()> {
        self.seal_for(notes.session, "notes", sql(PUT).bind_all(notes))
    }
}
