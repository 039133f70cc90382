//! The reading connections. They are replaced when a database that was opened without writing is opened for writing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bethink_store::{StoreError, StoreResult};
use sqlx::SqlitePool;
use tokio::sync::{OwnedRwLockWriteGuard, RwLock, RwLockReadGuard};

use crate::connect::{self, known_schema};
use crate::error::from_sqlx;
use crate::files;
use crate::sql::sql;

/// Clones share the connections.
#[derive(Clone, Debug)]
pub(crate) struct Readers(Arc<RwLock<SqlitePool>>);

impl Readers {
    pub(crate) fn new(pool: SqlitePool) -> Self {
        Self(Arc::new(RwLock::new(pool)))
    }

    /// Waits only while the connections are being replaced. Must not be called while the result of another call is
    /// held.
    pub(crate) async fn get(&self) -> RwLockReadGuard<'_, SqlitePool> {
        self.0.read().await
    }

    /// Waits until no read is running, and blocks new reads until the result is dropped.
    pub(crate) async fn replace(self) -> OwnedRwLockWriteGuard<SqlitePool> {
        self.0.write_owned().await
    }
}

/// Maximum number of attempts to read, and the pause between them. A connection that has just failed may still be
/// closing in its thread, and SQLite shares state between the connections of a process.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Opens connections that change no file: for a disk that is full, read-only or failing. Fails if the database has
/// another schema, because only a migration could make it readable.
pub(crate) async fn without_writing(path: &Path) -> StoreResult<SqlitePool> {
    let mut tries = 1;
    loop {
        match try_without_writing(path).await {
            Err(error) if error.is_of_the_disk() && tries < TRIES => {}
            outcome => return outcome,
        }
        tries += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn try_without_writing(path: &Path) -> StoreResult<SqlitePool> {
    let of_file = |error| StoreError::of_file(&error);
    let has_wal = files::wal_size(path).map_err(of_file)? > 0;
    if has_wal {
        // SQLite then keeps the index of the WAL in memory, but only if the file of the index exists.
        files::create_if_missing(&files::beside(path, "-shm")).map_err(of_file)?;
    }
    let pool = connect::readers_without_writing(path, has_wal).map_err(from_sqlx)?;
    let found: StoreResult<Option<i64>> =
        sql("SELECT max(version) FROM _sqlx_migrations").value(&pool).await;
    if let Ok(Some(found)) = found
        && found == known_schema()
    {
        return Ok(pool);
    }
    pool.close().await;
    Err(found.err().unwrap_or_else(|| {
        StoreError::Failed("the database's schema belongs to another version of bethink".to_owned())
    }))
}
