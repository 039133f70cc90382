//! Connections for one purpose, and transactions on them.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bethink_store::{StoreError, StoreFuture, StoreResult};
use sqlx::pool::PoolConnection;
use sqlx::{Connection, PgConnection, PgPool, Postgres};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connect::pool;
use crate::error::from_sqlx;
use crate::options::PostgresAddress;

/// A pool with a queue: callers wait in order for a free connection, as long as it takes. Only the wait for the server has
/// a time limit. Clones share the connections.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionQueue {
    pool: PgPool,
    free: Arc<Semaphore>,
    count: u32,
}

/// A connection, which is given back when it is dropped.
pub(crate) struct HeldConnection {
    connection: PoolConnection<Postgres>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionQueue {
    pub(crate) fn new(address: &PostgresAddress, count: u32) -> Self {
        let count = count.max(1);
        Self { pool: pool(address, count), free: Arc::new(Semaphore::new(count as usize)), count }
    }

    pub(crate) async fn get(&self) -> StoreResult<HeldConnection> {
        let permit = Arc::clone(&self.free).acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        let connection = self.pool.acquire().await.map_err(from_sqlx)?;
        Ok(HeldConnection { connection, _permit: permit })
    }

    /// Runs `work` in a transaction and commits it, even if the caller is gone.
    pub(crate) async fn write<T, F>(self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut PgConnection) -> StoreFuture<'a, T> + Send + 'static,
    {
        let written = tokio::spawn(async move {
            let mut connection = self.get().await?;
            let mut transaction = connection.begin().await.map_err(from_sqlx)?;
            let outcome = work(&mut transaction).await;
            match &outcome {
                Ok(_) => transaction.commit().await.map_err(from_sqlx)?,
                // If this fails, the connection is lost, and the server rolls back.
                Err(_) => drop(transaction.rollback().await),
            }
            outcome
        });
        written.await.map_err(|error| match error.is_cancelled() {
            true => StoreError::Closed,
            false => StoreError::Failed(error.to_string()),
        })?
    }

    /// Waits for those who have a connection or wait for one, and closes the connections.
    pub(crate) async fn close(&self) {
        let all = self.free.acquire_many(self.count).await;
        self.free.close();
        drop(all);
        self.pool.close().await;
    }
}

impl Deref for HeldConnection {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for HeldConnection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}
