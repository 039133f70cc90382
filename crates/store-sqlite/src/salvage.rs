//! Reads rows around damage.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bethink_store::StoreError;
use bethink_store_format::record_checksum;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use uuid::Uuid;

use crate::checksum::message;
use crate::connect::{known_schema, make_empty};
use crate::error::from_sqlx;
use crate::files;
use crate::opened::OpenError;
use crate::options::PAGE_BYTES;
use crate::sql::{Row, sql};
use crate::wal_scan::{self, WalVerdict};

/// Number of rows that are copied at once while there are no errors.
const STRIDE: i64 = 1024;
/// An unreadable range is halved until its length is the table's length divided by this number, which is one row in a
/// short table. In a long table, more rows are given up, so that a recovery takes only seconds.
const PARTS: i64 = 65_536;
/// Minimum size of a row, in bytes. Together with the file's size, it limits the row numbers to try.
const SMALLEST_ROW: u64 = 64;
/// Number of rows that are checked at once. The number is small, because a row may have many megabytes.
const PAGE: i64 = 16;

/// Reads whole lines, because the checksum of a line includes the bytes of its message.
const RECORDS: &str = "
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
    LIMIT 16";

/// Finds the root pages of all tables. In an empty database, all other pages belong to the schema.
const ROOTS: &str = "
    SELECT rootpage
    FROM sqlite_schema
    WHERE rootpage > 0";

const HAS_TABLE: &str = "
    SELECT count(*)
    FROM main.sqlite_schema
    WHERE name = ?";

const SCHEMA: &str = "SELECT max(version) FROM source._sqlx_migrations";

/// Attaches the damaged database to `target` as `source`, with a new first page if its own is unreadable. Returns
/// its schema; `None` if nothing is readable.
pub(crate) async fn attach(
    target: &mut SqliteConnection,
    path: &Path,
) -> Result<Option<i64>, OpenError> {
    let scratch = files::beside(path, ".salvage");
    copy_with_log(path, &scratch)?;
    if let Ok(schema) = attach_file(target, &scratch).await {
        return Ok(Some(schema));
    }
    // The migrations table, whose page is the same in all schemas, shows the right schema.
    let mut lent = known_schema();
    loop {
        let _ = detach(target).await;
        files::remove_database(&scratch)?;
        copy_with_log(path, &scratch)?;
        graft_schema(path, &scratch, lent).await?;
        match attach_file(target, &scratch).await {
            Ok(schema) if schema < lent => lent = schema,
            Ok(_) => return Ok(Some(lent)),
            Err(_) => break,
        }
    }
    let _ = detach(target).await;
    Ok(None)
}

/// Copies the database and its log. If the log is damaged, SQLite would not read past the damage, so the log's pages
/// are written into the copy.
fn copy_with_log(path: &Path, scratch: &Path) -> std::io::Result<()> {
    let WalVerdict::Damaged(log) = wal_scan::scan(path)? else {
        return files::copy_database(path, scratch);
    };
    if path.exists() {
        files::copy_synced(path, scratch)?;
    }
    log.apply(path, scratch)
}

pub(crate) async fn detach(target: &mut SqliteConnection) -> Result<(), OpenError> {
    sql("DETACH source").run(target).await?;
    Ok(())
}

/// Returns the schema of the file, or the newest schema if the file's is unreadable.
async fn attach_file(target: &mut SqliteConnection, path: &Path) -> Result<i64, StoreError> {
    let name = path.to_string_lossy().into_owned();
    sql("ATTACH ? AS source").bind(name).run(&mut *target).await?;
    sql("SELECT count(*) FROM source.sqlite_schema").value::<i64>(&mut *target).await?;
    // Preparing reads no row: it fails only if the schema lacks the tables.
    sql("SELECT number FROM source.messages WHERE 0").run(&mut *target).await?;
    let schema = sql(SCHEMA).value::<Option<i64>>(target).await;
    Ok(schema.ok().flatten().unwrap_or(i64::MAX).clamp(1, known_schema()))
}

/// Overwrites the pages of the schema, which locate every table and may be damaged, with those of an empty database
/// made by the same migrations. If the file's pages are not damaged, they differ from the new ones only in the header's
/// counts. If the file is truncated, the empty tables are added.
async fn graft_schema(path: &Path, scratch: &Path, schema: i64) -> Result<(), OpenError> {
    let lender = files::beside(path, ".new");
    let mut connection = make_empty(&lender, schema).await?;
    let roots: Vec<i64> = sql(ROOTS).all(&mut connection, |row| row.get(0)).await?;
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

/// Copies every readable row of a table. Returns whether all were readable.
pub(crate) async fn copy_rows(
    target: &mut SqliteConnection,
    table: &'static str,
    file_bytes: u64,
) -> Result<bool, OpenError> {
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
        stretches.push((from, last.min(from.saturating_add(STRIDE - 1))));
        while let Some((low, high)) = stretches.pop() {
            let copy = sql(AssertSqlSafe(copy.clone())).bind(low).bind(high);
            match copy.run(&mut *target).await {
                Ok(_) => {}
                // This is not an error of the damaged file: the new one cannot be written.
                Err(error @ (StoreError::Full | StoreError::ReadOnly(_))) => {
                    return Err(error.into());
                }
                Err(_) if high - low < finest => complete = false,
                Err(_) => {
                    let middle = low + (high - low) / 2;
                    stretches.push((middle + 1, high));
                    stretches.push((low, middle));
                }
            }
        }
        from = match next_number(target, table, from.saturating_add(STRIDE)).await {
            Ok(next) => next.unwrap_or(i64::MAX),
            // A damaged row number may be the highest, and far beyond all others.
            Err(_) if from > bound(file_bytes) => return Ok(false),
            Err(_) => from.saturating_add(STRIDE),
        };
    }
    Ok(complete)
}

/// Returns the next row number at or after `from`, so that gaps take no time.
async fn next_number(
    target: &mut SqliteConnection,
    table: &str,
    from: i64,
) -> Result<Option<i64>, StoreError> {
    let next = format!("SELECT min(number) FROM source.{table} WHERE number >= ?");
    sql(AssertSqlSafe(next)).bind(from).value(target).await
}

/// Returns the highest row number to try in a file of this size, for when there is no better way to find it.
fn bound(file_bytes: u64) -> i64 {
    i64::try_from(file_bytes / SMALLEST_ROW).unwrap_or(i64::MAX)
}

/// Returns whether the database has the table. Older schemas lack some tables.
pub(crate) async fn has_table(
    target: &mut SqliteConnection,
    table: &str,
) -> Result<bool, OpenError> {
    let tables: u64 = sql(HAS_TABLE).bind(table.to_owned()).value(target).await?;
    Ok(tables > 0)
}

/// Returns the highest row number, read from the end of the table or else from an index. If neither can be read, returns an
/// upper limit that follows from the size of the file.
async fn last_number(target: &mut SqliteConnection, table: &str, file_bytes: u64) -> i64 {
    let ways = [
        format!("SELECT coalesce(max(number), 0) FROM source.{table} NOT INDEXED"),
        format!("SELECT coalesce(max(+number), 0) FROM source.{table}"),
    ];
    for way in ways {
        if let Ok(number) = sql(AssertSqlSafe(way)).value(&mut *target).await {
            return number;
        }
    }
    bound(file_bytes)
}

pub(crate) async fn count(target: &mut SqliteConnection, table: &str) -> Result<u64, OpenError> {
    let count = sql(AssertSqlSafe(format!("SELECT count(*) FROM {table}")));
    Ok(count.value(target).await?)
}

/// Returns a statement that reads the rows of a table after a number.
pub(crate) fn next_rows(table: &str) -> String {
    match table {
        "records" => RECORDS.to_owned(),
        _ => format!("SELECT * FROM {table} WHERE number > ? ORDER BY number LIMIT {PAGE}"),
    }
}

/// Removes copied rows that are corrupted.
pub(crate) async fn drop_spoiled(
    target: &mut SqliteConnection,
    table: &'static str,
) -> Result<u64, OpenError> {
    let read = next_rows(table);
    let drop = format!("DELETE FROM {table} WHERE number = ?");
    let mut spoiled = 0;
    let mut after = 0_i64;
    loop {
        let read = sql(AssertSqlSafe(read.clone())).bind(after);
        let rows = read.rows(&mut *target).await?;
        let Some(last) = rows.last() else { return Ok(spoiled) };
        after = last.get("number")?;
        sql("BEGIN IMMEDIATE").run(&mut *target).await?;
        for row in rows.iter().filter(|row| !is_whole(table, row)) {
            let number: i64 = row.get("number")?;
            spoiled += sql(AssertSqlSafe(drop.clone())).bind(number).run(&mut *target).await?;
        }
        sql("COMMIT").run(&mut *target).await?;
    }
}

/// Returns whether a row is intact: its checksum is right, and text and ids are valid.
pub(crate) fn is_whole(table: &str, row: &Row) -> bool {
    match table {
        "messages" => message(row).is_ok(),
        "records" => record_is_whole(row).unwrap_or(false),
        _ => row.verify().is_ok() && columns_are_whole(row),
    }
}

pub(crate) fn record_is_whole(row: &Row) -> Result<bool, StoreError> {
    let part = |column: &str| row.get::<Vec<u8>>(column);
    let (head, raw, tail) = (part("head")?, part("raw")?, part("tail")?);
    let expected = record_checksum(row.get("session")?, row.get("line")?, [&head, &raw, &tail]);
    Ok(row.get::<i64>("checksum")? == expected)
}

fn columns_are_whole(row: &Row) -> bool {
    use sqlx::{Column, Row, TypeInfo, ValueRef};
    row.0.columns().iter().all(|column| {
        let Ok(value) = row.0.try_get_raw(column.ordinal()) else { return false };
        let is_text = value.type_info().name() == "TEXT";
        match column.name() {
            "id" | "session" | "parent" if !value.is_null() => {
                row.get::<Uuid>(column.ordinal()).is_ok()
            }
            "tags" => row.json::<Vec<String>>(column.ordinal(), "tags").is_ok(),
            _ if is_text => row.get::<String>(column.ordinal()).is_ok(),
            _ => true,
        }
    })
}
