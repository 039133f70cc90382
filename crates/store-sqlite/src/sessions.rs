//! Sessions themselves.

use bethink_store::{
    Created, NewSession, Page, Receipt, Result, Session, SessionChange, SessionFilter, StoreError,
};
use bethink_transcript::{SessionId, UnixMicros};
use sqlx::{Executor, FromRow, Sqlite, SqlitePool};

use crate::convert::{limit, not_found, seq, seq_column, session_id};
use crate::error::{from_sqlx, is_unique_violation};
use crate::receipts;
use crate::segments;
use crate::writer::Desk;

const INSERT: &str = "
    INSERT INTO sessions (
        id, project_dir, title, title_key, titled, tags, parent, forked_at, model, content_hash,
        created_at, updated_at
    )
    VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?10)
    RETURNING *";

const READ: &str = "
    SELECT *
    FROM sessions
    WHERE id = ?";

const EXISTS: &str = "
    SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?)";

const LIST: &str = "
    SELECT *
    FROM sessions
    WHERE (?1 IS NULL OR project_dir = ?1)
      AND (?2 IS NULL OR parent = ?2)
      AND (?3 IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?3))
      AND (?4 IS NULL OR instr(title_key, ?4) > 0 OR instr(lower(hex(id)), ?5) > 0)
      AND (?6 IS NULL OR (updated_at, id) < (?6, ?7))
    ORDER BY updated_at DESC, id DESC
    LIMIT ?8";

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

const PROJECTS: &str = "
    SELECT project_dir, count(*)
    FROM sessions
    GROUP BY project_dir
    ORDER BY project_dir";

const IMPORTED: &str = "
    SELECT id
    FROM sessions
    WHERE content_hash = ?
    ORDER BY created_at DESC
    LIMIT 1";

/// In this order: lines of other sessions' files take the bytes of messages that go with them.
const DELETE: [&str; 12] = [
    "UPDATE records
     SET raw = messages.raw,
         message = NULL
     FROM messages
     WHERE messages.session = ?1
       AND records.message = messages.number
       AND records.session <> ?1",
    segments::MARK_STALE,
    segments::FORGET_SESSION,
    "DELETE FROM records WHERE session = ?",
    "DELETE FROM decisions WHERE session = ?",
    "DELETE FROM compactions WHERE session = ?",
    "DELETE FROM collapses WHERE session = ?",
    "DELETE FROM client_sessions WHERE session = ?",
    "DELETE FROM lineage WHERE session = ?",
    "DELETE FROM notes WHERE session = ?",
    "DELETE FROM messages WHERE session = ?",
    "DELETE FROM sessions WHERE id = ?",
];

#[derive(FromRow)]
struct Row {
    id: Vec<u8>,
    project_dir: String,
    title: Option<String>,
    titled: bool,
    tags: String,
    parent: Option<Vec<u8>>,
    forked_at: Option<i64>,
    model: String,
    state: String,
    content_hash: Option<String>,
    last_seq: i64,
    created_at: i64,
    updated_at: i64,
}

pub(crate) async fn create(
    desk: &mut Desk,
    new: NewSession,
    receipt: Option<Receipt>,
) -> Result<Created> {
    if let Some(receipt) = &receipt
        && let Some(id) = receipts::honoured(desk, receipt).await?
    {
        return repeated(desk, &receipt.key, &id).await;
    }
    let row: Row = sqlx::query_as(INSERT)
        .bind(new.id.0.as_bytes().to_vec())
        .bind(new.project_dir)
        .bind(new.title.clone())
        .bind(new.title.map(|title| title.to_lowercase()))
        .bind(tags_column(&new.tags))
        .bind(new.parent.map(|parent| parent.0.as_bytes().to_vec()))
        .bind(new.forked_at.map(seq_column))
        .bind(new.model)
        .bind(new.content_hash)
        .bind(new.created_at.0)
        .fetch_one(&mut desk.connection)
        .await
        .map_err(|error| match is_unique_violation(&error) {
            true => StoreError::Conflict(format!("there is a session {} already", new.id)),
            false => from_sqlx(error),
        })?;
    if let Some(receipt) = &receipt {
        receipts::put(desk, receipt, &new.id.to_string(), new.created_at).await?;
    }
    desk.hot.learn(new.id, seq(0), Some(std::iter::empty()));
    Ok(Created { session: row.into_session()?, repeated: false })
}

/// The session made under this key; if it was deleted since, that is `NotFound`.
async fn repeated(desk: &mut Desk, key: &str, id: &str) -> Result<Created> {
    let id: SessionId = id.parse().map_err(|_| receipts_reused(key))?;
    let session = read(&mut desk.connection, id).await?;
    Ok(Created { session, repeated: true })
}

fn receipts_reused(key: &str) -> StoreError {
    crate::plan::reused(key)
}

pub(crate) async fn read(
    connection: impl Executor<'_, Database = Sqlite>,
    id: SessionId,
) -> Result<Session> {
    let row: Option<Row> = sqlx::query_as(READ)
        .bind(id.0.as_bytes().to_vec())
        .fetch_optional(connection)
        .await
        .map_err(from_sqlx)?;
    row.ok_or_else(|| not_found("session", id))?.into_session()
}

/// An empty answer about a session that is not there is `NotFound`.
pub(crate) async fn must_exist(
    connection: impl Executor<'_, Database = Sqlite>,
    id: SessionId,
) -> Result<()> {
    let exists: bool = sqlx::query_scalar(EXISTS)
        .bind(id.0.as_bytes().to_vec())
        .fetch_one(connection)
        .await
        .map_err(from_sqlx)?;
    if exists { Ok(()) } else { Err(not_found("session", id)) }
}

/// The same of rows that must be there.
pub(crate) fn found<T>(rows: &[T], id: SessionId) -> Result<()> {
    if rows.is_empty() { Err(not_found("session", id)) } else { Ok(()) }
}

pub(crate) async fn list(
    readers: &SqlitePool,
    filter: SessionFilter,
    page: Page,
) -> Result<(Vec<Session>, Option<String>)> {
    let after = page.cursor.as_deref().map(read_cursor).transpose()?;
    let wanted = page.limit.max(1);
    let q = filter.q.map(|q| q.to_lowercase());
    let rows: Vec<Row> = sqlx::query_as(LIST)
        .bind(filter.project_dir)
        .bind(filter.parent.map(|parent| parent.0.as_bytes().to_vec()))
        .bind(filter.tag)
        .bind(q.clone())
        .bind(q.map(|q| q.replace('-', "")).filter(|q| !q.is_empty()))
        .bind(after.map(|(at, _)| at.0))
        .bind(after.map(|(_, id)| id.0.as_bytes().to_vec()))
        .bind(limit(wanted.saturating_add(1)))
        .fetch_all(readers)
        .await
        .map_err(from_sqlx)?;
    let more = rows.len() > wanted;
    let sessions =
        rows.into_iter().take(wanted).map(Row::into_session).collect::<Result<Vec<_>>>()?;
    let cursor = sessions.last().filter(|_| more).map(write_cursor);
    Ok((sessions, cursor))
}

pub(crate) async fn update(
    desk: &mut Desk,
    id: SessionId,
    change: SessionChange,
) -> Result<Session> {
    let row: Option<Row> = sqlx::query_as(UPDATE)
        .bind(id.0.as_bytes().to_vec())
        .bind(change.title.clone())
        .bind(change.title.map(|title| title.to_lowercase()))
        .bind(change.titled)
        .bind(change.tags.as_deref().map(tags_column))
        .bind(change.model)
        .bind(change.state)
        .bind(change.updated_at.0)
        .fetch_optional(&mut desk.connection)
        .await
        .map_err(from_sqlx)?;
    row.ok_or_else(|| not_found("session", id))?.into_session()
}

pub(crate) async fn delete(desk: &mut Desk, id: SessionId) -> Result<()> {
    must_exist(&mut desk.connection, id).await?;
    for statement in DELETE {
        sqlx::query(statement)
            .bind(id.0.as_bytes().to_vec())
            .execute(&mut desk.connection)
            .await
            .map_err(from_sqlx)?;
    }
    desk.hot.forget_session(id);
    Ok(())
}

pub(crate) async fn projects(readers: &SqlitePool) -> Result<Vec<(String, u64)>> {
    let rows: Vec<(String, i64)> =
        sqlx::query_as(PROJECTS).fetch_all(readers).await.map_err(from_sqlx)?;
    Ok(rows.into_iter().map(|(dir, count)| (dir, count.unsigned_abs())).collect())
}

pub(crate) async fn imported(readers: &SqlitePool, hash: String) -> Result<Option<SessionId>> {
    let id: Option<Vec<u8>> =
        sqlx::query_scalar(IMPORTED).bind(hash).fetch_optional(readers).await.map_err(from_sqlx)?;
    id.as_deref().map(session_id).transpose()
}

impl Row {
    fn into_session(self) -> Result<Session> {
        let tags = serde_json::from_str(&self.tags)
            .map_err(|error| StoreError::Damaged(format!("tags of a session: {error}")))?;
        Ok(Session {
            id: session_id(&self.id)?,
            project_dir: self.project_dir,
            title: self.title,
            titled: self.titled,
            tags,
            parent: self.parent.as_deref().map(session_id).transpose()?,
            forked_at: self.forked_at.map(seq),
            model: self.model,
            state: self.state,
            content_hash: self.content_hash,
            last_seq: seq(self.last_seq),
            created_at: UnixMicros(self.created_at),
            updated_at: UnixMicros(self.updated_at),
        })
    }
}

fn tags_column(tags: &[String]) -> String {
    serde_json::Value::from(tags).to_string()
}

/// Place in the list: `updated_at` and id of the last session shown.
fn write_cursor(session: &Session) -> String {
    format!("{}.{}", session.updated_at.0, session.id.0.simple())
}

fn read_cursor(cursor: &str) -> Result<(UnixMicros, SessionId)> {
    let ours = cursor
        .split_once('.')
        .and_then(|(at, id)| Some((UnixMicros(at.parse().ok()?), id.parse::<SessionId>().ok()?)));
    ours.ok_or_else(|| {
        StoreError::Conflict(format!(
            "{cursor:?} is not a cursor of this list; begin again without one"
        ))
    })
}
