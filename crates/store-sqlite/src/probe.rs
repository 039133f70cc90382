//! Looking at a file before trusting it, without changing a byte of it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sqlx::SqliteConnection;

use crate::connect::{self, known_schema};
use crate::files;
use crate::open::OpenError;
use crate::options::CHECK_AT_ONCE_BYTES;

/// Tables in which rows are kept, each with its key.
pub(crate) const TABLES: [&str; 14] = [
    "sessions",
    "messages",
    "records",
    "decisions",
    "compactions",
    "collapses",
    "client_sessions",
    "lineage",
    "notes",
    "model_calls",
    "memory_versions",
    "kept",
    "jobs",
    "receipts",
];

#[derive(Debug)]
pub(crate) enum Verdict {
    Sound {
        /// Too large to be checked before serving, after a stop that was not clean.
        check_due: bool,
    },
    Damaged(String),
}

/// A header as SQLite writes it, https://www.sqlite.org/fileformat.html#the_database_header.
struct Header {
    page_size: u64,
    pages: u64,
}

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

const SCHEMA: &str = "
    SELECT count(*),
           coalesce(sum(name = '_sqlx_migrations'), 0)
    FROM sqlite_schema";

/// The end of each table is reached through its root: a cheap sign that both are there.
const ENDS: &str = "
    SELECT (SELECT max(number) FROM sessions),
           (SELECT max(number) FROM messages),
           (SELECT max(number) FROM records),
           (SELECT max(number) FROM decisions),
           (SELECT max(number) FROM compactions),
           (SELECT max(number) FROM collapses),
           (SELECT max(number) FROM client_sessions),
           (SELECT max(number) FROM lineage),
           (SELECT max(number) FROM notes),
           (SELECT max(number) FROM model_calls),
           (SELECT max(number) FROM memory_versions),
           (SELECT max(number) FROM kept),
           (SELECT max(number) FROM jobs),
           (SELECT max(number) FROM receipts),
           (SELECT max(number) FROM index_segments),
           (SELECT max(number) FROM index_pages),
           (SELECT max(number) FROM index_sessions)";

pub(crate) async fn look(path: &Path) -> Result<Verdict, OpenError> {
    if let Some(why) = files::suspicion(path) {
        return Ok(Verdict::Damaged(why));
    }
    if let Some(fault) = outside(path)? {
        return Ok(Verdict::Damaged(fault));
    }
    let mut connection = match connect::looker(path).await {
        Ok(connection) => connection,
        Err(error) => return verdict_of(error),
    };
    inside(path, &mut connection).await
}

/// What can be seen without SQLite.
fn outside(path: &Path) -> Result<Option<String>, OpenError> {
    let size = files::size(path)?.unwrap_or_default();
    let wal = files::wal_size(path)?;
    let header = match read_header(path) {
        Ok(Some(header)) => header,
        Ok(None) if size == 0 => return Ok(Some("the file is empty".into())),
        Ok(None) => return Ok(Some("the file does not begin as a SQLite database does".into())),
        Err(error) => return Err(error.into()),
    };
    if let Some(was) = files::clean_size(path)
        && was != size
    {
        return Ok(Some(format!("the file has {size} bytes, at its last use it had {was}")));
    }
    // With a log beside it, a file may be shorter than it says: the rest is in the log.
    let needed = header.pages * header.page_size;
    if wal == 0 && size < needed {
        return Ok(Some(format!("the file has {size} bytes of {needed}")));
    }
    Ok(None)
}

async fn inside(path: &Path, connection: &mut SqliteConnection) -> Result<Verdict, OpenError> {
    let (objects, ours): (i64, i64) = match sqlx::query_as(SCHEMA).fetch_one(&mut *connection).await
    {
        Ok(row) => row,
        Err(error) => return verdict_of(error),
    };
    if objects == 0 {
        return Ok(Verdict::Damaged("the file holds no tables".into()));
    }
    if ours == 0 {
        return Err(OpenError::Foreign(path.to_owned()));
    }
    let found: Option<i64> = match sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations")
        .fetch_one(&mut *connection)
        .await
    {
        Ok(found) => found,
        Err(error) => return verdict_of(error),
    };
    let known = known_schema();
    match found {
        Some(found) if found > known => return Err(OpenError::Newer { found, known }),
        // An older schema has other tables; SQLite's own check is what is left.
        Some(found) if found == known => {
            if let Err(error) = sqlx::query(ENDS).fetch_one(&mut *connection).await {
                return verdict_of(error);
            }
        }
        _ => {}
    }
    let clean = files::is_untouched(path);
    let small = files::size(path)?.unwrap_or_default() <= CHECK_AT_ONCE_BYTES;
    if clean || !small {
        return Ok(Verdict::Sound { check_due: !clean });
    }
    match quick_check(connection).await {
        Ok(None) => Ok(Verdict::Sound { check_due: false }),
        Ok(Some(fault)) => Ok(Verdict::Damaged(fault)),
        Err(error) => verdict_of(error),
    }
}

/// The first fault that SQLite finds in the structure of the file.
pub(crate) async fn quick_check(connection: &mut SqliteConnection) -> sqlx::Result<Option<String>> {
    let line: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(connection).await?;
    Ok((line != "ok").then_some(line))
}

/// An error while looking is either what we look for, or in the way.
fn verdict_of(error: sqlx::Error) -> Result<Verdict, OpenError> {
    match crate::error::from_sqlx(error) {
        bethink_store::StoreError::Damaged(why) => Ok(Verdict::Damaged(why)),
        // A schema that lacks what it must have, or says what can't be understood.
        bethink_store::StoreError::Failed(why) if names_the_schema(&why) => {
            Ok(Verdict::Damaged(why))
        }
        other => Err(other.into()),
    }
}

fn names_the_schema(message: &str) -> bool {
    ["no such table", "no such column", "malformed", "unsupported file format"]
        .iter()
        .any(|sign| message.contains(sign))
}

fn read_header(path: &Path) -> io::Result<Option<Header>> {
    let mut bytes = [0; 100];
    match File::open(path)?.read_exact(&mut bytes) {
        Ok(()) => Ok(parse_header(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse_header(bytes: &[u8; 100]) -> Option<Header> {
    let page_size = match u16::from_be_bytes([bytes[16], bytes[17]]) {
        1 => 65536,
        size => u64::from(size),
    };
    let counted = bytes[24..28] == bytes[92..96];
    let pages = u32::from_be_bytes([bytes[28], bytes[29], bytes[30], bytes[31]]);
    let sane = bytes.starts_with(MAGIC) && page_size.is_power_of_two() && page_size >= 512;
    // A count that is older than the last change says nothing.
    sane.then_some(Header { page_size, pages: if counted { u64::from(pages) } else { 0 } })
}
