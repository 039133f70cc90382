//! Checks the whole file while it is in use.

use std::time::{Duration, Instant};

use bethink_store::{StoreError, StoreResult};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use crate::connect;
use crate::error::from_sqlx;
use crate::probe::{TABLES, full_check};
use crate::salvage::{is_whole, next_rows};
use crate::sql::sql;
use crate::store::SqliteStore;

/// How much longer than a step the pause after it is, so that a check takes at most a quarter of a processor.
const PAUSE_FACTOR: u32 = 3;

impl SqliteStore {
    /// Checks the structure of the file, and the checksum of each row, on a connection of its own and in small steps with
    /// pauses. Returns the first problem; the next start then recovers the file.
    pub async fn check(&self) -> StoreResult<Option<String>> {
        if let Some(fault) = self.fault() {
            return Err(fault);
        }
        let mut connection = connect::looker(&self.path).await.map_err(from_sqlx)?;
        let found = find_fault(&mut connection).await;
        connection.close().await.map_err(from_sqlx)?;
        let fault = match found {
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

async fn find_fault(db: &mut SqliteConnection) -> StoreResult<Option<String>> {
    if let Some(fault) = full_check(db).await? {
        return Ok(Some(fault));
    }
    for table in TABLES {
        if let Some(number) = first_spoiled(db, table).await? {
            return Ok(Some(format!("row {number} of {table} is corrupted")));
        }
    }
    Ok(None)
}

async fn first_spoiled(db: &mut SqliteConnection, table: &'static str) -> StoreResult<Option<i64>> {
    let read = next_rows(table);
    let mut after = 0_i64;
    loop {
        let started = Instant::now();
        let rows = sql(AssertSqlSafe(read.clone())).bind(after).rows(&mut *db).await?;
        let Some(last) = rows.last() else { return Ok(None) };
        if let Some(spoiled) = rows.iter().find(|row| !is_whole(table, row)) {
            return Ok(Some(spoiled.get("number")?));
        }
        after = last.get("number")?;
        pause(started).await;
    }
}

async fn pause(after: Instant) {
    let took: Duration = after.elapsed();
    tokio::time::sleep(took * PAUSE_FACTOR).await;
}
