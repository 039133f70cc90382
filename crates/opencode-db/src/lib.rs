//! Reads sessions from opencode's SQLite database, and changes nothing there.
//!
//! Opens another program's database without disturbing it: read-only, and without creating a file next to it.
//! `agent-transcript` interprets the rows: a session is returned as JSON lines in the form that `agent-transcript` reads.
//!
//! Without a write-ahead log, opencode is not writing, and the database is opened as immutable. With a log and its
//! index, opencode may be running, and both files are shared with it. A log without an index was left by a crash.
//! SQLite would create the index, so a copy of the database is read instead.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::TryStreamExt;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};

/// How long to wait for a lock that opencode holds. It usually holds a lock for a few milliseconds.
const BUSY: Duration = Duration::from_millis(500);
/// Maximum size of a session, in bytes. It is limited because sessions are converted in memory.
pub const MAX_SESSION_BYTES: usize = 256 << 20;

/// The reason why sessions could not be read.
#[derive(Debug, thiserror::Error)]
pub enum OpencodeError {
    #[error("could not read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "could not read {}: the database is locked; try again when opencode is idle",
        .0.display()
    )]
    Locked(PathBuf),
    #[error(
        "could not read {}: its tables differ from those of opencode 1.x: {problem}",
        path.display()
    )]
    OtherSchema { path: PathBuf, problem: String },
    #[error("could not read {}: {problem}", path.display())]
    Database { path: PathBuf, problem: String },
    #[error("could not read the session {session}: it has more than {MAX_SESSION_BYTES} bytes")]
    TooLarge { session: String },
}

/// A session as the database lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpencodeListing {
    pub id: String,
    pub parent: Option<String>,
    /// In milliseconds since the Unix epoch.
    pub updated_at: i64,
    pub messages: u64,
}

/// An open database.
#[derive(Debug)]
pub struct OpencodeDb {
    path: PathBuf,
    connection: SqliteConnection,
    /// Directory of the copy that is read, if there is one.
    _copy: Option<tempfile::TempDir>,
}

impl OpencodeDb {
    pub async fn open(path: &Path) -> Result<Self, OpencodeError> {
        let io = |source| OpencodeError::Io { path: path.to_owned(), source };
        let meta = std::fs::metadata(path).map_err(io)?;
        if !meta.is_file() {
            return Err(io(io::Error::other("it is not a regular file")));
        }
        let beside = |end: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        let (log, index) = (beside("-wal"), beside("-shm"));
        let has_log = std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
        let mut copy = None;
        let mut options = SqliteConnectOptions::new()
            .read_only(true)
            .busy_timeout(BUSY)
            .disable_statement_logging();
        options = match (has_log, index.exists()) {
            (false, _) => options.filename(path).immutable(true),
            (true, true) => options.filename(path),
            (true, false) => {
                let dir = tempfile::tempdir().map_err(io)?;
                let to = dir.path().join("opencode.db");
                std::fs::copy(path, &to).map_err(io)?;
                std::fs::copy(&log, dir.path().join("opencode.db-wal")).map_err(io)?;
                copy = Some(dir);
                options.filename(to)
            }
        };
        let connection = options.connect().await.map_err(|error| of_sqlx(path, &error))?;
        Ok(Self { path: path.to_owned(), connection, _copy: copy })
    }

    /// Returns all sessions, parents before their children.
    pub async fn sessions(&mut self) -> Result<Vec<OpencodeListing>, OpencodeError> {
        const SQL: &str = "
            SELECT id, parent_id, time_updated,
                   (SELECT count(*) FROM message WHERE session_id = session.id) AS messages
            FROM session
            ORDER BY time_created, id";
        let path = &self.path;
        let rows = sqlx::query(SQL)
            .fetch_all(&mut self.connection)
            .await
            .map_err(|error| of_sqlx(path, &error))?;
        let read = |row: &sqlx::sqlite::SqliteRow| -> sqlx::Result<OpencodeListing> {
            Ok(OpencodeListing {
                id: row.try_get("id")?,
                parent: row.try_get("parent_id")?,
                updated_at: row.try_get("time_updated")?,
                messages: row.try_get::<i64, _>("messages")?.unsigned_abs(),
            })
        };
        rows.iter().map(|row| read(row).map_err(|error| of_sqlx(path, &error))).collect()
    }

    /// Returns a session as JSON lines: first `{"session": …}`, then `{"message": …}` in order, each with its `parts`.
    pub async fn session(&mut self, id: &str) -> Result<Vec<u8>, OpencodeError> {
        const SESSION: &str = "
            SELECT id, parent_id, directory, title, time_created
            FROM session
            WHERE id = ?";
        const MESSAGES: &str = "
            SELECT message.id, message.time_created, message.data, part.data AS part
            FROM message
            LEFT JOIN part ON part.message_id = message.id
            WHERE message.session_id = ?
            ORDER BY message.time_created, message.id, part.id";
        let path = self.path.clone();
        let failed = |error| of_sqlx(&path, &error);
        let row = sqlx::query(SESSION).bind(id).fetch_one(&mut self.connection).await;
        let row = row.map_err(failed)?;
        let session = session_line(&row).map_err(failed)?;
        let mut lines = SessionJson { out: format!("{session}\n").into_bytes(), open: None };
        let mut rows = sqlx::query(MESSAGES).bind(id).fetch(&mut self.connection);
        while let Some(row) = rows.try_next().await.map_err(failed)? {
            lines.row(&row).map_err(failed)?;
            if lines.out.len() > MAX_SESSION_BYTES {
                return Err(OpencodeError::TooLarge { session: id.to_owned() });
            }
        }
        lines.end();
        Ok(lines.out)
    }

    pub async fn close(self) {
        drop(self.connection.close().await);
    }
}

fn session_line(row: &sqlx::sqlite::SqliteRow) -> sqlx::Result<Value> {
    let text = |name: &str| row.try_get::<Option<String>, _>(name);
    Ok(json!({ "session": {
        "id": text("id")?, "parent_id": text("parent_id")?, "directory": text("directory")?, "title": text("title")?,
        "time_created": row.try_get::<i64, _>("time_created")?,
    }}))
}

/// Messages as they are read, each with its parts.
struct SessionJson {
    out: Vec<u8>,
    /// The message that the last rows belong to, and whether it has parts.
    open: Option<(String, bool)>,
}

impl SessionJson {
    fn row(&mut self, row: &sqlx::sqlite::SqliteRow) -> sqlx::Result<()> {
        let id: String = row.try_get("id")?;
        if self.open.as_ref().is_none_or(|(open, _)| *open != id) {
            self.end();
            let created: i64 = row.try_get("time_created")?;
            let data: String = row.try_get("data")?;
            let head = format!(
                r#"{{"message":{{"id":{},"time_created":{created},"data":{},"parts":["#,
                json!(id),
                raw(&data)
            );
            self.out.extend_from_slice(head.as_bytes());
            self.open = Some((id, false));
        }
        if let Some(part) = row.try_get::<Option<String>, _>("part")?
            && let Some((_, has_parts)) = &mut self.open
        {
            if std::mem::replace(has_parts, true) {
                self.out.push(b',');
            }
            self.out.extend_from_slice(raw(&part).as_bytes());
        }
        Ok(())
    }

    fn end(&mut self) {
        if self.open.take().is_some() {
            self.out.extend_from_slice(b"]}}\n");
        }
    }
}

/// Returns the JSON on one line. Text that is not JSON becomes a JSON string, which the reader ignores.
fn raw(json: &str) -> String {
    match serde_json::from_str::<&RawValue>(json) {
        Ok(value) => value.get().replace(['\n', '\r'], " "),
        Err(_) => Value::from(json).to_string(),
    }
}

fn of_sqlx(path: &Path, error: &sqlx::Error) -> OpencodeError {
    let (path, problem) = (path.to_owned(), error.to_string());
    let says = |text: &str| problem.contains(text);
    if says("database is locked") || says("database is busy") {
        return OpencodeError::Locked(path);
    }
    if says("no such table") || says("no such column") {
        return OpencodeError::OtherSchema { path, problem };
    }
    OpencodeError::Database { path, problem }
}

#[cfg(test)]
mod tests;
