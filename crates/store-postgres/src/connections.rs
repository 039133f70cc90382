//! Connections for one purpose, and transactions on them.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use bethink_store::{StoreError, StoreFuture, StoreResult};
use sqlx::pool::PoolConnection;
use sqlx::{ConnectOptions as _, Connection, PgConnection, PgPool, Postgres, Transaction};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::address::PostgresAddress;
use crate::connect::{DaemonSettings, in_time, not_connected, pool};
use crate::error::from_sqlx;
use crate::findings::StoreFindings;
use crate::options::{ANSWER, CAUSE, CONNECT};

/// A pool with a queue: callers wait in order for a free connection, as long as it takes. Only the wait for the server has
/// a time limit. Clones share the connections.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionQueue {
    pool: PgPool,
    free: Arc<Semaphore>,
    count: u32,
    schema: Arc<OnceLock<String>>,
}

/// A connection, which is given back when it is dropped.
pub(crate) struct HeldConnection {
    connection: PoolConnection<Postgres>,
    is_broken: bool,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionQueue {
    pub(crate) fn new(
        address: &PostgresAddress,
        count: u32,
        daemon: Option<DaemonSettings>,
        findings: &StoreFindings,
        schema: &Arc<OnceLock<String>>,
    ) -> Self {
        let count = count.max(1);
        let free = Arc::new(Semaphore::new(count as usize));
        let schema = Arc::clone(schema);
        let pool = pool(address, count, daemon, findings, &schema);
        Self { pool, free, count, schema }
    }

    /// Returns an error until the database has been opened, because its tables may not be as this program needs them.
    pub(crate) async fn get(&self) -> StoreResult<HeldConnection> {
        if self.schema.get().is_none() {
            let why = "the daemon has not been able to connect since it started";
            return Err(StoreError::Server(why.to_owned()));
        }
        let permit = Arc::clone(&self.free).acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        let connection = match self.pool.acquire().await {
            Err(error @ sqlx::Error::PoolTimedOut) => {
                let options = self.pool.connect_options();
                // The pool hides why it could not connect.
                let cause = in_time(CAUSE, options.connect()).await.err();
                return Err(not_connected(&options, cause.unwrap_or(error)));
            }
            acquired => {
                acquired.map_err(|error| not_connected(&self.pool.connect_options(), error))?
            }
        };
        Ok(HeldConnection { connection, is_broken: false, _permit: permit })
    }

    /// Begins a transaction.
    pub(crate) async fn begin<'c>(
        &self,
        held: &'c mut HeldConnection,
    ) -> StoreResult<Transaction<'c, Postgres>> {
        // If it does not begin, the connection may be in a transaction that has failed.
        held.is_broken = true;
        let HeldConnection { connection, is_broken, .. } = held;
        let begun = in_time(ANSWER, connection.begin()).await.map_err(from_sqlx)?;
        *is_broken = false;
        Ok(begun)
    }

    /// Runs `work` in a transaction and commits it, even if the caller is gone.
    pub(crate) async fn write<T, F>(self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut PgConnection) -> StoreFuture<'a, T> + Send + 'static,
    {
        let written = tokio::spawn(async move {
            let mut connection = self.get().await?;
            let mut transaction = self.begin(&mut connection).await?;
            let outcome = work(&mut transaction).await;
            match &outcome {
                Ok(_) => commit(transaction).await?,
                // The server does not answer. It rolls back when the connection ends.
                Err(StoreError::Server(_)) => drop(transaction),
                // If this fails, the connection is lost, and the server rolls back.
                Err(_) => drop(in_time(ANSWER, transaction.rollback()).await),
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
        // Connections to a server that is gone end with the process.
        drop(timeout(CONNECT, self.pool.close()).await);
    }
}

pub(crate) async fn commit(transaction: Transaction<'_, Postgres>) -> StoreResult<()> {
    in_time(ANSWER, transaction.commit()).await.map_err(from_sqlx)
}

impl Drop for HeldConnection {
    /// Gives the connection back, after what its last statement left is read. That statement may have been abandoned because
    /// the server does not answer: then the connection is ended instead.
    fn drop(&mut self) {
        if self.is_broken {
            self.connection.close_on_drop();
        } else {
            tokio::spawn(timeout(CONNECT, self.connection.return_to_pool()));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The pool itself tries again until its time is over, and does not say why.
    #[tokio::test]
    async fn a_refused_connection_is_the_reason() {
        let address = "postgres://ann@127.0.0.1:1/notes".parse().unwrap();
        let schema = Arc::new(OnceLock::from("public".to_owned()));
        let queue = ConnectionQueue::new(&address, 1, None, &StoreFindings::default(), &schema);
        let Err(StoreError::Server(why)) = queue.get().await else { panic!("connected") };
        assert!(why.contains("refused"), "{why}");
    }
}
