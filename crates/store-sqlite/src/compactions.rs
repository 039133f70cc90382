//! The compactions of a session, including undone ones.

use bethink_store::{CompactionRecord, NewDecision, StoreResult};
use bethink_transcript::{CompactionId, SessionId, UnixMicros};
use sqlx::SqliteConnection;

use crate::decisions;
use crate::record::Record;
use crate::sql::{not_found, sql};

const TABLE: &str = "compactions";

pub(crate) const READ: &str = "
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
    SET undone_at = ?
    WHERE id = ?
      AND session = ?
      AND undone_at IS NULL";

const READ_ONE: &str = "
    SELECT *
    FROM compactions
    WHERE id = ?
      AND session = ?";

pub(crate) async fn add(
    db: &mut SqliteConnection,
    new: CompactionRecord,
    with: Vec<NewDecision>,
) -> StoreResult<()> {
    decisions::add(db, new.session, with).await?;
    let (id, session) = (new.id, new.session);
    let insert = sql(INSERT).bind_all(new);
    insert.insert(&mut *db, || format!("compaction {id} already exists")).await?;
    sql(READ_ONE).bind(id).bind(session).seal(db, TABLE).await.map(drop)
}

pub(crate) async fn undo(
    db: &mut SqliteConnection,
    session: SessionId,
    id: CompactionId,
    at: UnixMicros,
    with: Vec<NewDecision>,
) -> StoreResult<CompactionRecord> {
    let read = || sql(READ_ONE).bind(id).bind(session);
    read().optional(&mut *db, CompactionRecord::read).await?;
    if sql(UNDO).bind(at).bind(id).bind(session).run(&mut *db).await? > 0 {
        decisions::add(db, session, with).await?;
    }
    let undone = read().seal(db, TABLE).await?;
    undone
        .first()
        .map(CompactionRecord::read)
        .transpose()?
        .ok_or_else(|| not_found("compaction", id))
}
