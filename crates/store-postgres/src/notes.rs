//! The record of each session's notes: one row, replaced as a whole.

use bethink_store::{NotesRecord, NotesStore, StoreFuture};
use bethink_transcript::SessionId;

use crate::record::Record;
use crate::sql::sql;
use crate::store::PostgresStore;

const READ: &str = "
    SELECT *
    FROM notes
    WHERE session = $1";

const PUT: &str = "
    INSERT INTO notes (
        session, text, replaced, written, through_seq, tokens, strategy, updated_at
    )
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (session) DO UPDATE
    SET text        = excluded.text,
        replaced    = excluded.replaced,
        written     = excluded.written,
        through_seq = excluded.through_seq,
        tokens      = excluded.tokens,
        strategy    = excluded.strategy,
        updated_at  = excluded.updated_at";

impl NotesStore for PostgresStore {
    fn notes(&self, id: SessionId) -> StoreFuture<'_, Option<NotesRecord>> {
        Box::pin(async move {
            let mut rows = self.all_of(id, sql(READ).bind(id), Record::read).await?;
            Ok(rows.pop())
        })
    }

    fn put_notes(&self, notes: NotesRecord) -> StoreFuture<'_, ()> {
        self.run_for(notes.session, sql(PUT).bind_all(notes))
    }
}
