//! Session rows.

use bethink_store::{
    Created, NewSession, PageRequest, Receipt, SessionChange, SessionFilter, SessionRecord,
    StoreResult,
};
use bethink_store_format::{page_of, read_cursor, reused};
use bethink_transcript::SessionId;
use serde_json::json;
use sqlx::{Executor, Sqlite, SqliteConnection};

use crate::readers::Readers;
use crate::receipts;
use crate::record::Record;
use crate::segments;
use crate::sql::{not_found, sql};

const TABLE: &str = "sessions";

const INSERT: &str = "
    INSERT INTO sessions (
        id, project_dir, title, title_key, titled, tags, parent, forked_at, model, content_hash,
        project_key, created_at, updated_at
    )
    VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11)";

const READ: &str = "
    SELECT *
    FROM sessions
    WHERE id = ?";

const EXISTS: &str = "
    SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?)";

const LIST: &str = "
    SELECT *
    FROM sessions
    WHERE (
          ?1 IS NULL
          OR number IN (
              SELECT number
              FROM sessions
              WHERE project_dir = ?1
                AND (
                    ?2 IS NULL
                    OR project_key IS NULL
                    OR project_key IN (SELECT value FROM json_each(?2))
                )
              UNION ALL
              SELECT number
              FROM sessions
              WHERE NOT ?3
                AND project_key IN (SELECT value FROM json_each(?2))
          )
      )
      AND (?4 IS NULL OR parent = ?4)
      AND (?5 IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?5))
      AND (?6 IS NULL OR instr(title_key, ?6) > 0 OR instr(lower(hex(id)), ?7) > 0)
      AND (?8 IS NULL OR (updated_at, id) < (?8, ?9))
    ORDER BY updated_at DESC, id DESC
    LIMIT ?10";

const UPDATE: &str = "
    UPDATE sessions
    SET title      = coalesce(?2, title),
        title_key  = coalesce(?3, title_key),
        titled     = coalesce(?4, titled),
        tags       = coalesce(?5, tags),
        model      = coalesce(?6, model),
        state      = coalesce(?7, state),
        updated_at = max(updated_at, ?8)
    WHERE id = ?1
    RETURNING *";

pub(crate) const PROJECTS: &str = "
    SELECT project_dir, count(*)
    FROM sessions
    GROUP BY project_dir
    ORDER BY project_dir";

/// The order matters: first, lines of other sessions' files take over the bytes of the deleted messages.
const DELETE: [&str; 17] = [
    "UPDATE records
     SET raw = messages.raw,
         message = NULL
     FROM messages
     WHERE messages.session = ?1
       AND records.message = messages.number
       AND records.session <> ?1",
    "DELETE FROM records WHERE session = ?",
    "DELETE FROM decisions WHERE session = ?",
    "DELETE FROM compactions WHERE session = ?",
    "DELETE FROM collapses WHERE session = ?",
    "DELETE FROM client_sessions WHERE session = ?",
    "DELETE FROM lineage WHERE session = ?",
    "DELETE FROM notes WHERE session = ?",
    "DELETE FROM sent_requests WHERE session = ?",
    "DELETE FROM sent_marks WHERE session = ?",
    "DELETE FROM extraction_marks WHERE session = ?",
    "DELETE FROM extraction_plans WHERE session = ?",
    "DELETE FROM extraction_plan_writes WHERE session = ?",
    "DELETE FROM candidates WHERE session = ?",
    "DELETE FROM transcript_positions WHERE session = ?",
    "DELETE FROM messages WHERE session = ?",
    "DELETE FROM sessions WHERE id = ?",
];

pub(crate) async fn create(
    db: &mut SqliteConnection,
    new: NewSession,
    receipt: Option<Receipt>,
) -> StoreResult<Created> {
    if let Some(receipt) = &receipt
        && let Some(id) = receipts::honoured(db, receipt).await?
    {
        // Returns `NotFound` if it has been deleted since.
        let id = id.parse().map_err(|_| reused(&receipt.key))?;
        return Ok(Created { session: read(db, id).await?, repeated: true });
    }
    let id = new.id;
    let insert = sql(INSERT)
        .bind(id)
        .bind(new.project_dir)
        .bind(new.title.clone())
        .bind(new.title.map(|title| title.to_lowercase()))
        .bind(json!(new.tags).to_string())
        .bind(new.parent)
        .bind(new.forked_at)
        .bind(new.model)
        .bind(new.content_hash)
        .bind(new.project)
        .bind(new.created_at);
    insert.insert(&mut *db, || format!("session {id} already exists")).await?;
    sql(READ).bind(id).seal(&mut *db, TABLE).await?;
    if let Some(receipt) = receipt {
        receipts::put(db, receipt, id.to_string(), new.created_at).await?;
    }
    Ok(Created { session: read(db, id).await?, repeated: false })
}

pub(crate) async fn read(
    db: impl Executor<'_, Database = Sqlite>,
    id: SessionId,
) -> StoreResult<SessionRecord> {
    let found = sql(READ).bind(id).optional(db, SessionRecord::read).await?;
    found.ok_or_else(|| not_found("session", id))
}

/// Returns `NotFound` if the session does not exist.
pub(crate) async fn must_exist(
    db: impl Executor<'_, Database = Sqlite>,
    id: SessionId,
) -> StoreResult<()> {
    let exists: bool = sql(EXISTS).bind(id).value(db).await?;
    if exists { Ok(()) } else { Err(not_found("session", id)) }
}

pub(crate) async fn list(
    readers: &Readers,
    filter: SessionFilter,
    page: PageRequest,
) -> StoreResult<(Vec<SessionRecord>, Option<String>)> {
    let after = page.cursor.as_deref().map(read_cursor).transpose()?;
    let wanted = page.limit.max(1);
    let q = filter.q.map(|q| q.to_lowercase());
    let list = sql(LIST)
        .bind_location(filter.location.as_ref())
        .bind(filter.parent)
        .bind(filter.tag)
        .bind(q.clone())
        .bind(q.map(|q| q.replace('-', "")).filter(|q| !q.is_empty()))
        .bind(after.map(|(at, _)| at))
        .bind(after.map(|(_, id)| id))
        .bind(wanted.saturating_add(1));
    let sessions = list.all(&*readers.get().await, SessionRecord::read).await?;
    Ok(page_of(sessions, wanted, |last| (last.updated_at, last.id)))
}

pub(crate) async fn update(
    db: &mut SqliteConnection,
    id: SessionId,
    change: SessionChange,
) -> StoreResult<SessionRecord> {
    read(&mut *db, id).await?;
    let update = sql(UPDATE)
        .bind(id)
        .bind(change.title.clone())
        .bind(change.title.map(|title| title.to_lowercase()))
        .bind(change.titled)
        .bind(change.tags.map(|tags| json!(tags).to_string()))
        .bind(change.model)
        .bind(change.state)
        .bind(change.updated_at);
    let updated = update.seal(db, TABLE).await?;
    updated.first().map(SessionRecord::read).transpose()?.ok_or_else(|| not_found("session", id))
}

pub(crate) async fn delete(db: &mut SqliteConnection, id: SessionId) -> StoreResult<()> {
    must_exist(&mut *db, id).await?;
    segments::forget(&mut *db, id).await?;
    for statement in DELETE {
        sql(statement).bind(id).run(&mut *db).await?;
    }
    Ok(())
}
