//! Looking the whole file over while it serves.

use bethink_store::Result;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use crate::error::{from_io, from_sqlx};
use crate::files;
use crate::probe::quick_check;
use crate::salvage::{RECORDS, message_is_whole, record_is_whole};
use crate::store::SqliteStore;

const MESSAGES: &str = "
    SELECT *
    FROM messages
    WHERE number > ?
    ORDER BY number
    LIMIT 256";

impl SqliteStore {
    /// Checks the structure of the file and every message and line against its checksum, on a
    /// reading connection. Answers with the first fault; the next start then recovers the file.
    pub async fn check(&self) -> Result<Option<String>> {
        let mut connection = self.readers.acquire().await.map_err(from_sqlx)?;
        let fault = match find_fault(&mut connection).await.map_err(from_sqlx) {
            Ok(fault) => fault,
            Err(bethink_store::StoreError::Damaged(why)) => Some(why),
            Err(other) => return Err(other),
        };
        if let Some(fault) = &fault {
            files::mark_suspect(&self.path, fault).map_err(|error| from_io(&error))?;
        }
        Ok(fault)
    }
}

async fn find_fault(connection: &mut SqliteConnection) -> sqlx::Result<Option<String>> {
    if let Some(fault) = quick_check(connection).await? {
        return Ok(Some(fault));
    }
    if let Some(number) = first_spoiled(connection, MESSAGES, message_is_whole).await? {
        return Ok(Some(format!("message number {number} is not what was written")));
    }
    let record = first_spoiled(connection, RECORDS, record_is_whole).await?;
    Ok(record.map(|number| format!("record number {number} is not what was written")))
}

async fn first_spoiled(
    connection: &mut SqliteConnection,
    read: &'static str,
    is_whole: fn(&SqliteRow) -> sqlx::Result<bool>,
) -> sqlx::Result<Option<i64>> {
    use sqlx::Row;
    let mut after = 0_i64;
    loop {
        let rows = sqlx::query(read).bind(after).fetch_all(&mut *connection).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        for row in &rows {
            after = row.try_get("number")?;
            if !is_whole(row).unwrap_or(false) {
                return Ok(Some(after));
            }
        }
    }
}
