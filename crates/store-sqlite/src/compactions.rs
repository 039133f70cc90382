//! The compactions of a session, including undone ones.

use bethink_store::{CompactionRecord, NewDecision, StoreResult};
use bethink_transcript::{CompactionId, SessionId, UnixMicros};
use sqlx::SqliteConnection;

use crate::decisions;
use crate::sql::{Row, not_found, sql};

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
    let insert = sql(INSERT)
        .bind(new.id)
        .bind(new.session)
        .bind(new.trigger)
        .bind(new.level)
        .bind(new.first_seq)
        .bind(new.last_seq)
        .bind(new.kept_from)
        .bind(new.made_after)
        .bind(new.tokens_before)
        .bind(new.tokens_after)
        .bind(new.summary)
        .bind(new.summary_tokens)
        .bind(new.fidelity)
        .bind(new.detail)
        .bind(new.created_at)
        .bind(new.undone_at);
    insert.insert(&mut *db, || format!("compaction {} already exists", new.id)).await?;
    sql(READ_ONE).bind(new.id).bind(new.session).seal(db, TABLE).await.map(drop)
}

pub(crate) async fn undo(
    db: &mut SqliteConnection,
    session: SessionId,
    id: CompactionId,
    at: UnixMicros,
    with: Vec<NewDecision>,
) -> StoreResult<CompactionRecord> {
    let read = || sql(READ_ONE).bind(id).bind(session);
    read().optional(&mut *db, compaction).await?;
    if sql(UNDO).bind(at).bind(id).bind(session).run(&mut *db).await? > 0 {
        decisions::add(db, session, with).await?;
    }
    let undone = read().seal(db, TABLE).await?;
    undone.first().map(compaction).transpose()?.ok_or_else(|| not_found("compaction", id))
}

pub(crate) fn compaction(row: &Row) -> StoreResult<CompactionRecord> {
    Ok(CompactionRecord {
        id: row.get("id")?,
        session: row.get("session")?,
        trigger: row.get("trigger")?,
        level: row.get("level")?,
        first_seq: row.get("first_seq")?,
        last_seq: row.get("last_seq")?,
        kept_from: row.get("kept_from")?,
        made_after: row.get("made_after")?,
        tokens_before: row.get("tokens_before")?,
        tokens_after: row.get("tokens_after")?,
        summary: row.get("summary")?,
        summary_tokens: row.get("summary_tokens")?,
        fidelity: row.get("fidelity")?,
        detail: row.get("detail")?,
        created_at: row.get("created_at")?,
        undone_at: row.get("undone_at")?,
    })
}
