//! The compactions of a session, including undone ones.

use bethink_store::{CompactionRecord, NewDecision, StoreResult};
use bethink_transcript::{CompactionId, SessionId, UnixMicros};
use sqlx::PgConnection;

use crate::record::Record;
use crate::sql::{not_found, sql};
use crate::{decisions, sessions};

pub(crate) const READ: &str = "
    SELECT *
    FROM compactions
    WHERE session = $1
    ORDER BY number";

const INSERT: &str = "
    INSERT INTO compactions (
        id, session, trigger, level, first_seq, last_seq, kept_from, made_after, tokens_before,
        tokens_after, summary, summary_tokens, fidelity, detail, created_at, undone_at
    )
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";

const UNDO: &str = "
    UPDATE compactions
    SET undone_at = $1
    WHERE id = $2
      AND session = $3
      AND undone_at IS NULL";

const READ_ONE: &str = "
    SELECT *
    FROM compactions
    WHERE id = $1
      AND session = $2";

pub(crate) async fn add(
    db: &mut PgConnection,
    new: CompactionRecord,
    with: Vec<NewDecision>,
) -> StoreResult<()> {
    decisions::add(db, new.session, with).await?;
    let id = new.id;
    let insert = sql(INSERT).bind_all(new);
    insert.insert(db, || format!("compaction {id} already exists")).await
}

pub(crate) async fn undo(
    db: &mut PgConnection,
    session: SessionId,
    id: CompactionId,
    at: UnixMicros,
    with: Vec<NewDecision>,
) -> StoreResult<CompactionRecord> {
    sessions::lock(&mut *db, session).await?;
    if sql(UNDO).bind(at).bind(id).bind(session).run(&mut *db).await? > 0 {
        decisions::add(db, session, with).await?;
    }
    let undone = sql(READ_ONE).bind(id).bind(session).optional(db, CompactionRecord::read).await?;
    undone.ok_or_else(|| not_found("compaction", id))
}
