//! Checks a file before it is used, without changing it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bethink_store::StoreError;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use crate::connect::{self, are_migrations, known_schema};
use crate::error::from_sqlx;
use crate::files;
use crate::opened::OpenError;
use crate::options::CHECK_AT_ONCE_BYTES;
use crate::sql::sql;
use crate::wal_scan::{self, WalVerdict};

/// All tables whose rows are recovered.
pub(crate) const TABLES: [&str; 35] = [
    "sessions",
    "messages",
    "records",
    "decisions",
    "compactions",
    "collapses",
    "client_sessions",
    "lineage",
    "notes",
    "sent_requests",
    "sent_marks",
    "model_calls",
    "memory_versions",
    "proposals",
    "team_bases",
    "team_places",
    "import_approvals",
    "refused_statements",
    "extraction_marks",
    "extraction_plans",
    "extraction_plan_writes",
    "candidates",
    "candidate_overflow",
    "secret_allowances",
    "pauses",
    "unrecorded_marks",
    "last_dreams",
    "topic_vectors",
    "lock_names",
    "transcript_positions",
    "transcript_places",
    "delivered_memories",
    "unreadable_kept",
    "jobs",
    "receipts",
];
/// Tables of older schemas, whose rows were moved to other tables later.
pub(crate) const FORMER_TABLES: [&str; 1] = ["kept"];
/// Tables of the index, which is rebuilt rather than recovered.
pub(crate) const INDEX_TABLES: [&str; 3] = ["index_segments", "index_pages", "index_sessions"];

#[derive(Debug)]
pub(crate) enum ProbeVerdict {
    Sound {
        /// Whether the last stop was not clean, or the file has changed since then.
        check_due: bool,
        /// Whether the log ends in an incomplete transaction.
        torn: bool,
    },
    Damaged(String),
}

/// The beginning of a database's header (https://www.sqlite.org/fileformat.html#the_database_header).
struct DatabaseHeader {
    page_size: u64,
    pages: u64,
}

/// Errors from SQLite may mean damage; our own errors do not.
#[derive(Debug, thiserror::Error)]
enum LookError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Open(#[from] OpenError),
}

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

const SCHEMA: &str = "
    SELECT count(*),
           coalesce(sum(name = '_sqlx_migrations'), 0)
    FROM sqlite_schema";

const MIGRATIONS: &str = "
    SELECT version, checksum
    FROM _sqlx_migrations
    ORDER BY version";

pub(crate) async fn look(path: &Path) -> Result<ProbeVerdict, OpenError> {
    match examine(path).await {
        Ok((check_due, torn)) => Ok(ProbeVerdict::Sound { check_due, torn }),
        Err(LookError::Store(StoreError::Damaged(why))) => Ok(ProbeVerdict::Damaged(why)),
        // A schema that is incomplete or invalid.
        Err(LookError::Store(StoreError::Failed(why))) if names_the_schema(&why) => {
            Ok(ProbeVerdict::Damaged(why))
        }
        Err(LookError::Store(other)) => Err(other.into()),
        Err(LookError::Open(other)) => Err(other),
    }
}

/// Returns whether a check is due, and whether the log is torn. Looks at the log first, before SQLite uses it.
async fn examine(path: &Path) -> Result<(bool, bool), LookError> {
    if let Some(why) = files::suspicion(path) {
        return damaged(why);
    }
    let torn = match wal_scan::scan(path).map_err(OpenError::from)? {
        WalVerdict::Damaged(log) => return damaged(log.reason),
        WalVerdict::Torn => true,
        WalVerdict::Whole => false,
    };
    if let Some(fault) = outside(path)? {
        return damaged(fault);
    }
    let mut db = connect::looker(path).await.map_err(from_sqlx)?;
    let check_due = inside(path, &mut db).await;
    // Its result does not matter: the connection only read.
    drop(db.close().await);
    Ok((check_due?, torn))
}

fn damaged<T>(why: impl Into<String>) -> Result<T, LookError> {
    Err(LookError::Store(StoreError::Damaged(why.into())))
}

/// Makes the checks that do not need SQLite.
fn outside(path: &Path) -> Result<Option<String>, OpenError> {
    let size = files::size(path)?.unwrap_or_default();
    let wal = files::wal_size(path)?;
    let Some(header) = read_header(path)? else {
        let why = match size {
            0 => "the file is empty",
            _ => "the file does not have the header of a SQLite database",
        };
        return Ok(Some(why.to_owned()));
    };
    // With a WAL, a file may be shorter than its header says: the rest is in the WAL.
    let needed = header.pages * header.page_size;
    let cut_off = wal == 0 && size < needed;
    Ok(cut_off.then(|| format!("the file is {size} bytes, but should be {needed}")))
}

async fn inside(path: &Path, db: &mut SqliteConnection) -> Result<bool, LookError> {
    let seen = sql(SCHEMA).optional(&mut *db, |row| Ok((row.get(0)?, row.get(1)?))).await?;
    let (objects, ours): (i64, i64) = seen.unwrap_or_default();
    if objects == 0 {
        return damaged("the file has no tables");
    }
    if ours == 0 {
        return Err(OpenError::Foreign(path.to_owned()).into());
    }
    let applied = sql(MIGRATIONS).all(&mut *db, |row| Ok((row.get(0)?, row.get(1)?))).await?;
    if !are_migrations(&applied) {
        return damaged("the migrations table is corrupted");
    }
    let found = applied.last().map(|(version, _)| *version);
    let known = known_schema();
    match found {
        Some(found) if found > known => return Err(OpenError::Newer { found, known }.into()),
        // An older schema has other tables, so only SQLite's own check is possible.
        Some(found) if found == known => reach_ends(&mut *db).await?,
        _ => {}
    }
    if files::is_untouched(path) {
        return Ok(false);
    }
    let size = files::size(path).map_err(OpenError::from)?.unwrap_or_default();
    if size > CHECK_AT_ONCE_BYTES {
        return Ok(true);
    }
    match quick_check(db).await? {
        // The quick check does not compare indexes with their tables.
        None => Ok(true),
        Some(fault) => damaged(fault),
    }
}

/// Reads the last row of each table, which is a cheap check that the root and the end of the table exist.
async fn reach_ends(db: &mut SqliteConnection) -> Result<(), StoreError> {
    let end = |table: &&str| format!("(SELECT max(number) FROM {table})");
    let ends: Vec<_> = TABLES.iter().chain(&INDEX_TABLES).map(end).collect();
    let ends = AssertSqlSafe(format!("SELECT {}", ends.join(", ")));
    sql(ends).value::<Option<i64>>(db).await.map(drop)
}

/// Returns the first problem that SQLite finds in the structure of the file, and in its indexes, which a quick check does not
/// compare with their tables.
pub(crate) async fn full_check(db: &mut SqliteConnection) -> Result<Option<String>, StoreError> {
    let line: String = sql("PRAGMA integrity_check(1)").value(db).await?;
    Ok((line != "ok").then_some(line))
}

/// Returns the first problem that SQLite finds in the structure of the file.
pub(crate) async fn quick_check(db: &mut SqliteConnection) -> Result<Option<String>, StoreError> {
    let line: String = sql("PRAGMA quick_check(1)").value(db).await?;
    Ok((line != "ok").then_some(line))
}

fn names_the_schema(message: &str) -> bool {
    ["no such table", "no such column", "malformed", "unsupported file format", "out of memory"]
        .iter()
        .any(|sign| message.contains(sign))
}

fn read_header(path: &Path) -> io::Result<Option<DatabaseHeader>> {
    let mut bytes = [0; 100];
    match File::open(path)?.read_exact(&mut bytes) {
        Ok(()) => Ok(parse_header(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse_header(bytes: &[u8; 100]) -> Option<DatabaseHeader> {
    let page_size = match u16::from_be_bytes([bytes[16], bytes[17]]) {
        1 => 65536,
        size => u64::from(size),
    };
    let counted = bytes[24..28] == bytes[92..96];
    let pages = u32::from_be_bytes([bytes[28], bytes[29], bytes[30], bytes[31]]);
    let sane = bytes.starts_with(MAGIC) && page_size.is_power_of_two() && page_size >= 512;
    // A page count that is older than the last change is not valid.
    sane.then_some(DatabaseHeader { page_size, pages: if counted { u64::from(pages) } else { 0 } })
}
