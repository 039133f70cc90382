//! Session rows, and their locks.

use std::collections::HashMap;

use bethink_store::{
    Created, NewSession, PageRequest, Receipt, SessionChange, SessionFilter, SessionRecord,
    StoreError, StoreResult,
};
use bethink_store_format::{page_of, read_cursor, reused, write_json};
use bethink_transcript::{Seq, SessionId};
use sqlx::{Executor, PgConnection, Postgres};

use crate::connections::ConnectionQueue;
use crate::receipts;
use crate::record::Record;
use crate::segments;
use crate::sql::{Row, not_found, sql};
use crate::withdrawal;

const INSERT: &str = "
    INSERT INTO sessions (
        id, project_dir, title, title_key, tags, tag_keys, parent, forked_at, model, content_hash,
        project_key, created_at, updated_at
    )
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)";

const READ: &str = "
    SELECT *
    FROM sessions
    WHERE id = $1";

const EXISTS: &str = "
    SELECT EXISTS (SELECT FROM sessions WHERE id = $1)";

const LIST: &str = "
    SELECT *
    FROM sessions
    WHERE (
          $1 IS NULL
          OR (project_dir = $1 AND ($2 IS NULL OR project_key IS NULL OR project_key = ANY ($2)))
          OR (NOT $3 AND project_key = ANY ($2))
      )
      AND ($4 IS NULL OR parent = $4)
      AND ($5 IS NULL OR $5 = ANY(tag_keys))
      AND (
          $6 IS NULL
          OR position($6 IN title_key) > 0
          OR position($7 IN replace(id::text, '-', '')) > 0
      )
      AND ($8 IS NULL OR (updated_at, id) < ($8, $9))
    ORDER BY updated_at DESC, id DESC
    LIMIT $10";

const UPDATE: &str = "
    UPDATE sessions
    SET title      = coalesce($2, title),
        title_key  = coalesce($3, title_key),
        titled     = coalesce($4, titled),
        tags       = coalesce($5, tags),
        tag_keys   = coalesce($6, tag_keys),
        model      = coalesce($7, model),
        state      = coalesce($8, state),
        updated_at = greatest(updated_at, $9)
    WHERE id = $1
      AND is_own(holder)
    RETURNING *";

pub(crate) const PROJECTS: &str = "
    SELECT project_dir, count(*)
    FROM sessions
    GROUP BY project_dir
    ORDER BY project_dir";

/// Lets other transactions change the session, but not delete it.
const HOLD: &str = "
    SELECT id
    FROM sessions
    WHERE id = ANY($1)
    ORDER BY id
    FOR KEY SHARE";

/// Lets other transactions only read or hold the sessions.
const LOCK: &str = "
    SELECT id, last_seq, other_holder(holder)
    FROM sessions
    WHERE id = ANY($1)
    ORDER BY id
    FOR NO KEY UPDATE";

const MOVED: &str = "
    SELECT other_holder(holder)
    FROM sessions
    WHERE id = $1";

/// Waits for all transactions that lock or hold the session.
const LOCK_TO_DELETE: &str = "
    SELECT other_holder(holder)
    FROM sessions
    WHERE id = $1
    FOR UPDATE";

/// Locks the row that says that the session's directory is shared, so that it does not change before the transaction ends.
const LOCK_SHARED: &str = "
    SELECT project
    FROM shared_projects
    JOIN sessions USING (project_dir)
    WHERE id = $1
    FOR SHARE OF shared_projects";

/// Forks and children may be shared only because their parent is. Before the parent is deleted, this stores for each of them that it is
/// shared.
const KEEP_SHARED: &str = "
    INSERT INTO session_sharing (session, is_shared)
    SELECT session, TRUE
    FROM sessions
    JOIN shared_sessions
      ON session = id
    WHERE parent = $1
    ON CONFLICT DO NOTHING";

/// The order matters: first, lines of other sessions' files take over the bytes of the deleted messages.
const DELETE: [&str; 19] = [
    "UPDATE records
     SET raw = messages.raw,
         message = NULL
     FROM messages
     WHERE messages.session = $1
       AND records.message = messages.number
       AND records.session <> $1",
    "DELETE FROM records WHERE session = $1",
    "DELETE FROM decisions WHERE session = $1",
    "DELETE FROM compactions WHERE session = $1",
    "DELETE FROM collapses WHERE session = $1",
    "DELETE FROM client_sessions WHERE session = $1",
    "DELETE FROM lineage WHERE session = $1",
    "DELETE FROM notes WHERE session = $1",
    "DELETE FROM notes_files WHERE session = $1",
    "DELETE FROM sent_requests WHERE session = $1",
    "DELETE FROM sent_marks WHERE session = $1",
    "DELETE FROM extraction_marks WHERE session = $1",
    "DELETE FROM extraction_plans WHERE session = $1",
    "DELETE FROM extraction_plan_writes WHERE session = $1",
    "DELETE FROM candidates_of_homes WHERE session = $1",
    "DELETE FROM transcript_positions WHERE session = $1",
    "DELETE FROM session_sharing WHERE session = $1",
    "DELETE FROM messages WHERE session = $1",
    "DELETE FROM sessions WHERE id = $1",
];

pub(crate) async fn create(
    db: &mut PgConnection,
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
        .bind(write_json(&new.tags))
        .bind_list(new.tags)
        .bind(new.parent)
        .bind(new.forked_at)
        .bind(new.model)
        .bind(new.content_hash)
        .bind(new.project)
        .bind(new.created_at);
    insert.insert(&mut *db, || format!("session {id} already exists")).await?;
    if let Some(receipt) = receipt {
        receipts::put(db, receipt, id.to_string(), new.created_at).await?;
    }
    Ok(Created { session: read(db, id).await?, repeated: false })
}

pub(crate) async fn read(
    db: impl Executor<'_, Database = Postgres>,
    id: SessionId,
) -> StoreResult<SessionRecord> {
    let found = sql(READ).bind(id).optional(db, SessionRecord::read).await?;
    found.ok_or_else(|| not_found("session", id))
}

/// Returns `NotFound` if the session does not exist. For readers: a transaction that writes must [`hold`] it.
pub(crate) async fn must_exist(db: &mut PgConnection, id: SessionId) -> StoreResult<()> {
    let exists: bool = sql(EXISTS).bind(id).value(db).await?;
    if exists { Ok(()) } else { Err(not_found("session", id)) }
}

/// Keeps the session from being deleted until the end of the transaction. Returns `NotFound` if it does not exist.
pub(crate) async fn hold(db: &mut PgConnection, id: SessionId) -> StoreResult<()> {
    let held = sql(HOLD).bind_list([id]).run(db).await?;
    if held > 0 { Ok(()) } else { Err(not_found("session", id)) }
}

/// Keeps those of the sessions that exist from being deleted until the end of the transaction.
pub(crate) async fn hold_all(
    db: &mut PgConnection,
    ids: impl IntoIterator<Item = SessionId>,
) -> StoreResult<()> {
    sql(HOLD).bind_list(ids).run(db).await.map(drop)
}

/// Locks the session of this daemon until the end of the transaction. Returns `NotFound` if it does not exist, and `Moved` if
/// another daemon has it.
pub(crate) async fn lock(db: &mut PgConnection, id: SessionId) -> StoreResult<()> {
    let LockedSessions { own, moved } = lock_all(db, vec![id]).await?;
    match moved.into_values().next() {
        Some(holder) => Err(StoreError::Moved { session: id, holder }),
        None if own.is_empty() => Err(not_found("session", id)),
        None => Ok(()),
    }
}

/// Locks the session, whichever daemon has it: for a change of what no daemon keeps in memory.
pub(crate) async fn lock_any(db: &mut PgConnection, id: SessionId) -> StoreResult<()> {
    let LockedSessions { own, moved } = lock_all(db, vec![id]).await?;
    match own.is_empty() && moved.is_empty() {
        true => Err(not_found("session", id)),
        false => Ok(()),
    }
}

/// Sessions that are locked.
#[derive(Default)]
pub(crate) struct LockedSessions {
    /// Those of this daemon, with their last messages.
    pub(crate) own: HashMap<SessionId, Seq>,
    /// Those of other daemons, with the daemon's name.
    pub(crate) moved: HashMap<SessionId, String>,
}

/// Locks those of the sessions that exist until the end of the transaction.
pub(crate) async fn lock_all(
    db: &mut PgConnection,
    mut ids: Vec<SessionId>,
) -> StoreResult<LockedSessions> {
    ids.sort_unstable();
    ids.dedup();
    let read = |row: &Row| {
        let (id, last_seq): (SessionId, Seq) = (row.get(0)?, row.get(1)?);
        Ok((id, last_seq, row.get::<Option<String>>(2)?))
    };
    let mut locked = LockedSessions::default();
    for (id, last_seq, moved) in sql(LOCK).bind_list(ids).all(db, read).await? {
        match moved {
            None => drop(locked.own.insert(id, last_seq)),
            Some(holder) => drop(locked.moved.insert(id, holder)),
        }
    }
    Ok(locked)
}

pub(crate) async fn list(
    readers: &ConnectionQueue,
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
    let sessions = list.all(&mut *readers.get().await?, SessionRecord::read).await?;
    Ok(page_of(sessions, wanted, |last| (last.updated_at, last.id)))
}

pub(crate) async fn update(
    db: &mut PgConnection,
    id: SessionId,
    change: SessionChange,
) -> StoreResult<SessionRecord> {
    let update = sql(UPDATE)
        .bind(id)
        .bind(change.title.clone())
        .bind(change.title.map(|title| title.to_lowercase()))
        .bind(change.titled)
        .bind(change.tags.as_ref().map(write_json))
        .bind_optional_list(change.tags)
        .bind(change.model)
        .bind(change.state)
        .bind(change.updated_at);
    if let Some(updated) = update.optional(&mut *db, SessionRecord::read).await? {
        return Ok(updated);
    }
    let moved = sql(MOVED).bind(id).optional(db, |row| row.get::<Option<String>>(0)).await?;
    Err(match moved {
        Some(holder) => {
            // This daemon may have got the session in between.
            let holder = holder.unwrap_or_else(|| "another daemon".to_owned());
            StoreError::Moved { session: id, holder }
        }
        None => not_found("session", id),
    })
}

pub(crate) async fn delete(db: &mut PgConnection, id: SessionId) -> StoreResult<()> {
    let read = |row: &Row| row.get::<Option<String>>(0);
    let locked = sql(LOCK_TO_DELETE).bind(id).optional(&mut *db, read).await?;
    if let Some(holder) = locked.ok_or_else(|| not_found("session", id))? {
        return Err(StoreError::Moved { session: id, holder });
    }
    // Its lock keeps two deletions apart, which may change the same lines of an imported file.
    segments::forget(&mut *db, id).await?;
    for statement in [LOCK_SHARED, KEEP_SHARED].into_iter().chain(DELETE) {
        sql(statement).bind(id).run(&mut *db).await?;
    }
    withdrawal::forget(db, id).await
}
