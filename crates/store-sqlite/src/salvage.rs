//! Reading rows past damage.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bethink_transcript::SessionId;
use sqlx::{AssertSqlSafe, Connection, Row, SqliteConnection};

use crate::convert::{session_id, unsigned};
use crate::error::from_sqlx;
use crate::files;
use crate::open::{OpenError, make_empty};
use crate::rows::checksum;

/// Rows copied at once while nothing is wrong.
const STRIDE: i64 = 1024;
/// A stretch that can't be read is halved until it is this small a part of the table's range: a
/// short range to single rows, a long one to what can be tried in seconds.
const PARTS: i64 = 65_536;
/// No row takes less than this on disk, so a file's size bounds its row numbers when nothing else
/// does.
const SMALLEST_ROW: u64 = 64;
/// Page size of every database that we make.
pub(crate) const PAGE_BYTES: usize = 4096;
/// Rows looked at again at once.
const PAGE: i64 = 256;

/// A line is checked whole, with the bytes that its message holds.
pub(crate) const RECORDS: &str = "
    SELECT records.number,
           records.session,
           records.line,
           records.checksum,
           records.head,
           coalesce(messages.raw, records.raw, x'') AS raw,
           records.tail
    FROM records
    LEFT JOIN messages
      ON messages.number = records.message
    WHERE records.number > ?
    ORDER BY records.number
    LIMIT 256";

/// In an empty database each table is one page: all others continue the schema.
const ROOTS: &str = "
    SELECT rootpage
    FROM sqlite_schema
    WHERE rootpage > 0";

const HAS_TABLE: &str = "
    SELECT count(*)
    FROM source.sqlite_schema
    WHERE name = ?";

/// Attaches the damaged database to `target` as `source`, with a new first page if its own can't be
/// read. `false` if there is nothing to be read at all.
pub(crate) async fn attach(target: &mut SqliteConnection, path: &Path) -> Result<bool, OpenError> {
    let scratch = files::beside(path, ".salvage");
    files::copy_database(path, &scratch)?;
    if attach_file(target, &scratch).await.is_ok() {
        return Ok(true);
    }
    let _ = detach(target).await;
    files::remove_database(&scratch)?;
    files::copy_database(path, &scratch)?;
    graft_schema(path, &scratch).await?;
    if attach_file(target, &scratch).await.is_ok() {
        return Ok(true);
    }
    let _ = detach(target).await;
    Ok(false)
}

pub(crate) async fn detach(target: &mut SqliteConnection) -> Result<(), OpenError> {
    sqlx::query("DETACH source").execute(target).await.map_err(from_sqlx)?;
    Ok(())
}

async fn attach_file(target: &mut SqliteConnection, path: &Path) -> sqlx::Result<()> {
    let name = path.to_string_lossy().into_owned();
    sqlx::query("ATTACH ? AS source").bind(name).execute(&mut *target).await?;
    sqlx::query("SELECT count(*) FROM source.sqlite_schema").fetch_one(&mut *target).await?;
    // Preparing reads no row: it fails only if the schema lacks the tables.
    sqlx::query("SELECT number FROM source.messages WHERE 0").fetch_all(target).await.map(drop)
}

/// The first page and those that continue it hold the way to every table. A database made by the same
/// migrations has the same ones, but for the header's counts, so it can lend its own; and where the
/// file ends too early, its empty tables.
async fn graft_schema(path: &Path, scratch: &Path) -> Result<(), OpenError> {
    let lender = files::beside(path, ".new");
    let mut connection = make_empty(&lender).await?;
    let roots: Vec<i64> =
        sqlx::query_scalar(ROOTS).fetch_all(&mut connection).await.map_err(from_sqlx)?;
    connection.close().await.map_err(from_sqlx)?;
    let mut lent = std::fs::read(&lender)?;
    files::remove_database(&lender)?;
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(scratch)?;
    let length = file.metadata()?.len().next_multiple_of(PAGE_BYTES as u64);
    let pages = (length / PAGE_BYTES as u64).max((lent.len() / PAGE_BYTES) as u64);
    lent[28..32].copy_from_slice(&u32::try_from(pages).unwrap_or(u32::MAX).to_be_bytes());
    for (page, bytes) in (1_i64..).zip(lent.chunks(PAGE_BYTES)) {
        let at = (page.unsigned_abs() - 1) * PAGE_BYTES as u64;
        if at >= length || !roots.contains(&page) {
            file.write_all_at(bytes, at)?;
        }
    }
    file.set_len(pages * PAGE_BYTES as u64)?;
    Ok(())
}

/// Copies every row of a table that can be read. Answers whether all could.
pub(crate) async fn copy_rows(
    target: &mut SqliteConnection,
    table: &'static str,
    file_bytes: u64,
) -> Result<bool, OpenError> {
    if !has_table(target, table).await {
        return Ok(true);
    }
    let mut complete = true;
    let last = last_number(target, table, file_bytes).await;
    let finest = (last / PARTS).max(1);
    let copy = format!(
        "INSERT OR IGNORE INTO main.{table}\nSELECT *\nFROM source.{table}\n\
         WHERE number BETWEEN ? AND ?"
    );
    let mut stretches = Vec::new();
    let mut from = 1;
    while from <= last {
        stretches.push((from, last.min(from + STRIDE - 1)));
        while let Some((low, high)) = stretches.pop() {
            let copied = sqlx::query(AssertSqlSafe(copy.clone()))
                .bind(low)
                .bind(high)
                .execute(&mut *target)
                .await;
            match copied.map_err(from_sqlx) {
                Ok(_) => {}
                Err(bethink_store::StoreError::Full) => return Err(OpenError::Full),
                Err(_) if high - low < finest => complete = false,
                Err(_) => {
                    let middle = low + (high - low) / 2;
                    stretches.push((middle + 1, high));
                    stretches.push((low, middle));
                }
            }
        }
        from += STRIDE;
    }
    Ok(complete)
}

/// A database of an older schema lacks the tables that came later. One that can't tell is asked for its
/// rows.
async fn has_table(target: &mut SqliteConnection, table: &str) -> bool {
    let count = sqlx::query_scalar::<_, i64>(HAS_TABLE).bind(table).fetch_one(target).await;
    count.map_or(true, |count| count > 0)
}

/// Highest row number: from the table's end, or else from walking an index, or else from the size of
/// the file.
async fn last_number(target: &mut SqliteConnection, table: &str, file_bytes: u64) -> i64 {
    let ways = [
        format!("SELECT coalesce(max(number), 0) FROM source.{table} NOT INDEXED"),
        format!("SELECT coalesce(max(+number), 0) FROM source.{table}"),
    ];
    let bound = i64::try_from(file_bytes / SMALLEST_ROW).unwrap_or(i64::MAX);
    for way in ways {
        if let Ok(number) =
            sqlx::query_scalar::<_, i64>(AssertSqlSafe(way)).fetch_one(&mut *target).await
        {
            return number;
        }
    }
    bound
}

pub(crate) async fn count(target: &mut SqliteConnection, table: &str) -> Result<u64, OpenError> {
    let count: i64 = sqlx::query_scalar(AssertSqlSafe(format!("SELECT count(*) FROM {table}")))
        .fetch_one(target)
        .await
        .map_err(from_sqlx)?;
    Ok(unsigned(count))
}

/// Removes copied rows that are not what was written.
pub(crate) async fn drop_spoiled(
    target: &mut SqliteConnection,
    table: &'static str,
) -> Result<u64, OpenError> {
    let read = match table {
        "records" => RECORDS.to_owned(),
        _ => format!("SELECT * FROM {table} WHERE number > ? ORDER BY number LIMIT {PAGE}"),
    };
    let drop = format!("DELETE FROM {table} WHERE number = ?");
    let mut spoiled = 0;
    let mut after = 0_i64;
    loop {
        let rows = sqlx::query(AssertSqlSafe(read.clone()))
            .bind(after)
            .fetch_all(&mut *target)
            .await
            .map_err(from_sqlx)?;
        if rows.is_empty() {
            return Ok(spoiled);
        }
        sqlx::query("BEGIN IMMEDIATE").execute(&mut *target).await.map_err(from_sqlx)?;
        for row in &rows {
            after = row.try_get("number").map_err(from_sqlx)?;
            if !is_whole(table, row) {
                spoiled += 1;
                let statement = sqlx::query(AssertSqlSafe(drop.clone())).bind(after);
                statement.execute(&mut *target).await.map_err(from_sqlx)?;
            }
        }
        sqlx::query("COMMIT").execute(&mut *target).await.map_err(from_sqlx)?;
    }
}

/// Messages and lines carry a checksum; of other rows at least the text must be text and the ids ids.
fn is_whole(table: &str, row: &sqlx::sqlite::SqliteRow) -> bool {
    match table {
        "messages" => message_is_whole(row).unwrap_or(false),
        "records" => record_is_whole(row).unwrap_or(false),
        _ => columns_are_whole(row),
    }
}

pub(crate) fn message_is_whole(row: &sqlx::sqlite::SqliteRow) -> sqlx::Result<bool> {
    let id: String = row.try_get("message_id")?;
    let raw: Vec<u8> = row.try_get("raw")?;
    let seq: i64 = row.try_get("seq")?;
    let stored: i64 = row.try_get("checksum")?;
    let Some(session) = session_of(row)? else { return Ok(false) };
    let role: i64 = row.try_get("role")?;
    Ok((0..=1).contains(&role) && stored == checksum(session, unsigned(seq), &id, &[&raw]))
}

pub(crate) fn record_is_whole(row: &sqlx::sqlite::SqliteRow) -> sqlx::Result<bool> {
    let line: i64 = row.try_get("line")?;
    let head: Vec<u8> = row.try_get("head")?;
    let raw: Vec<u8> = row.try_get("raw")?;
    let tail: Vec<u8> = row.try_get("tail")?;
    let stored: i64 = row.try_get("checksum")?;
    let Some(session) = session_of(row)? else { return Ok(false) };
    let parts = [&head[..], &raw, &tail];
    Ok(stored == checksum(session, unsigned(line), "", &parts))
}

fn session_of(row: &sqlx::sqlite::SqliteRow) -> sqlx::Result<Option<SessionId>> {
    let bytes: Vec<u8> = row.try_get("session")?;
    Ok(session_id(&bytes).ok())
}

fn columns_are_whole(row: &sqlx::sqlite::SqliteRow) -> bool {
    use sqlx::{Column, TypeInfo, ValueRef};
    row.columns().iter().all(|column| {
        let Ok(value) = row.try_get_raw(column.ordinal()) else { return false };
        let is_text = value.type_info().name() == "TEXT";
        match column.name() {
            "id" | "session" | "parent" if !value.is_null() => row
                .try_get::<Vec<u8>, _>(column.ordinal())
                .is_ok_and(|bytes| session_id(&bytes).is_ok()),
            "tags" => row
                .try_get::<String, _>(column.ordinal())
                .is_ok_and(|tags| serde_json::from_str::<Vec<String>>(&tags).is_ok()),
            _ if is_text => row.try_get::<String, _>(column.ordinal()).is_ok(),
            _ => true,
        }
    })
}
