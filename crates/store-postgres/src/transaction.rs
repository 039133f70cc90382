//! Transactions.

use bethink_store::{StoreError, StoreFuture, StoreResult};
use sqlx::pool::PoolConnection;
use sqlx::{Connection, PgConnection, PgPool, Postgres};

use crate::error::from_sqlx;

/// Runs `work` in a transaction, and commits it. It is carried out even if the caller is gone.
pub(crate) async fn write<T, F>(pool: PgPool, work: F) -> StoreResult<T>
where
    T: Send + 'static,
    F: for<'a> FnOnce(&'a mut PgConnection) -> StoreFuture<'a, T> + Send + 'static,
{
    let written = tokio::spawn(async move {
        let mut connection = acquire(&pool).await?;
        let mut transaction = connection.begin().await.map_err(from_sqlx)?;
        let outcome = work(&mut transaction).await;
        match &outcome {
            Ok(_) => transaction.commit().await.map_err(from_sqlx)?,
            // If this fails, the connection is lost, and the server rolls back.
            Err(_) => drop(transaction.rollback().await),
        }
        outcome
    });
    written.await.map_err(|error| StoreError::Failed(error.to_string()))?
}

pub(crate) async fn acquire(pool: &PgPool) -> StoreResult<PoolConnection<Postgres>> {
    pool.acquire().await.map_err(from_sqlx)
}
