//! Checks the whole file while it is in use.

use bethink_store::{StoreError, StoreResult};
use sqlx::SqliteConnection;

use crate::error::from_sqlx;
use crate::messages::message;
use crate::probe::quick_check;
use crate::salvage::{RECORDS, record_is_whole};
use crate::sql::{Row, sql};
use crate::store::SqliteStore;

const MESSAGES: &str = "
    SELECT *
    FROM messages
    WHERE number > ?
    ORDER BY number
    LIMIT 256";

impl SqliteStore {
    /// Checks the structure of the file, and every message and line against its checksum, on a reading
    /// connection. Returns the first problem; the next start then recovers the file.
    pub async fn check(&self) -> StoreResult<Option<String>> {
        let mut connection = self.readers.get().await.acquire().await.map_err(from_sqlx)?;
        let fault = match find_fault(&mut connection).await {
            Ok(fault) => fault,
            Err(StoreError::Damaged(why)) => Some(why),
            Err(other) => return Err(other),
        };
        if let Some(fault) = &fault {
            self.note_damage(fault);
        }
        Ok(fault)
    }
}

async fn find_fault(connection: &mut SqliteConnection) -> StoreResult<Option<String>> {
    if let Some(fault) = quick_check(connection).await? {
        return Ok(Some(fault));
    }
    if let Some(number) =
        first_spoiled(connection, MESSAGES, |row| message(row).map(|_| true)).await?
    {
        return Ok(Some(format!("message number {number} is corrupted")));
    }
    let record = first_spoiled(connection, RECORDS, record_is_whole).await?;
    Ok(record.map(|number| format!("record number {number} is corrupted")))
}

async fn first_spoiled(
    db: &mut SqliteConnection,
    read: &'static str,
    is_whole: fn(&Row) -> StoreResult<bool>,
) -> StoreResult<Option<i64>> {
    let mut after = 0_i64;
    loop {
        let read = sql(read).bind(after);
        let rows = read
            .all(&mut *db, |row| Ok((row.get("number")?, is_whole(row).unwrap_or(false))))
            .await?;
        let Some((last, _)) = rows.last() else { return Ok(None) };
        if let Some((spoiled, _)) = rows.iter().find(|(_, whole)| !whole) {
            return Ok(Some(*spoiled));
        }
        after = *last;
    }
}
