//! Checks the whole file while it is in use.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bethink_store::{CheckStore, HealthStore, StoreError, StoreFuture, StoreResult};
use bethink_transcript::UnixMicros;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use crate::connect;
use crate::error::from_sqlx;
use crate::files;
use crate::probe::{INDEX_TABLES, TABLES, full_check};
use crate::salvage::{is_whole, next_rows};
use crate::sql::sql;
use crate::store::SqliteStore;

/// Number of virtual-machine instructions after which SQLite asks whether to continue. They take a few microseconds.
const INSTRUCTIONS: i32 = 1000;

/// Interrupts a check that was dropped, so that its connection does not delay a shutdown.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl CheckStore for SqliteStore {
    /// Checks the structure of the file and its indexes, and the checksum of each row, on a separate connection. The next
    /// start recovers a file in which a problem was found.
    fn check(&self) -> StoreFuture<'_, Option<String>> {
        Box::pin(check(self))
    }

    fn checked_at(&self) -> StoreFuture<'_, Option<UnixMicros>> {
        Box::pin(ready(Ok(files::checked_at(&self.path))))
    }

    fn set_checked_at(&self, at: Option<UnixMicros>) -> StoreFuture<'_, ()> {
        let stored = match at {
            Some(at) => files::mark_checked(&self.path, at),
            None => files::unmark_checked(&self.path),
        };
        Box::pin(ready(stored.map_err(|error| StoreError::of_file(&error))))
    }
}

async fn check(store: &SqliteStore) -> StoreResult<Option<String>> {
    if let Some(fault) = store.fault() {
        return Err(fault);
    }
    let mut connection = connect::looker(&store.path).await.map_err(from_sqlx)?;
    let stopped = StopOnDrop(Arc::default());
    let is_stopped = Arc::clone(&stopped.0);
    let mut handle = connection.lock_handle().await.map_err(from_sqlx)?;
    handle.set_progress_handler(INSTRUCTIONS, move || !is_stopped.load(Ordering::Relaxed));
    drop(handle);
    let found = find_fault(&mut connection).await;
    connection.close().await.map_err(from_sqlx)?;
    let fault = match found {
        Ok(fault) => fault,
        Err(StoreError::Damaged(why)) => Some(why),
        Err(other) => return Err(other),
    };
    if let Some(fault) = &fault {
        store.note_damage(fault);
    }
    Ok(fault)
}

pub(crate) async fn find_fault(db: &mut SqliteConnection) -> StoreResult<Option<String>> {
    if let Some(fault) = full_check(db).await? {
        return Ok(Some(fault));
    }
    for table in TABLES.into_iter().chain(INDEX_TABLES) {
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
        let rows = sql(AssertSqlSafe(read.clone())).bind(after).rows(&mut *db).await?;
        let Some(last) = rows.last() else { return Ok(None) };
        if let Some(spoiled) = rows.iter().find(|row| !is_whole(table, row)) {
            return Ok(Some(spoiled.get("number")?));
        }
        after = last.get("number")?;
    }
}
