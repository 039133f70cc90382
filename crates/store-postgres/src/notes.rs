//! The record of each session's notes: one row, replaced as a whole.

use bethink_store::{NotesRecord, NotesStore, StoreFuture};
use bethink_transcript::SessionId;

use crate::record::Record;
use crate::sessions;
use crate::sql::sql;
use crate::store::PostgresStore;

/// If another home wrote the row, it replaces the file that this home wrote last.
const READ: &str = "
    SELECT notes.session,
           text,
           CASE WHEN notes.home = own_home() THEN replaced ELSE coalesce(hash, '') END AS replaced,
           written,
           through_seq,
           tokens,
           strategy,
           updated_at
    FROM notes
    LEFT JOIN notes_files
      ON notes_files.session = notes.session
     AND notes_files.home = own_home()
    WHERE notes.session = $1";

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
        updated_at  = excluded.updated_at,
        home        = excluded.home";

const PUT_FILE: &str = "
    INSERT INTO notes_files (session, hash)
    VALUES ($1, $2)
    ON CONFLICT (home, session) DO UPDATE
    SET hash = excluded.hash";

impl NotesStore for PostgresStore {
    fn notes(&self, id: SessionId) -> StoreFuture<'_, Option<NotesRecord>> {
        Box::pin(async move {
            let mut rows = self.all_of(id, sql(READ).bind(id), Record::read).await?;
            Ok(rows.pop())
        })
    }

    fn put_notes(&self, notes: NotesRecord) -> StoreFuture<'_, ()> {
        let (session, hash) = (notes.session, blake3::hash(notes.text.as_bytes()).to_string());
        let put_file = sql(PUT_FILE).bind(session).bind(hash);
        self.write(move |db| {
            Box::pin(async move {
                sessions::hold(&mut *db, session).await?;
                sql(PUT).bind_all(notes).run(&mut *db).await?;
                put_file.run(db).await.map(drop)
            })
        })
    }
}
