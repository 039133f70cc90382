//! Connections.

use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{ConnectOptions, Executor, PgConnection};

use crate::error::from_sqlx;
use crate::opened::PostgresOpenError;
use crate::options::{CONNECT, PostgresAddress};

/// Settings that the guarantees of this store depend on. A setting that is stricter than ours stays. If this process hangs
/// in a transaction, the last one ends it, so that other processes do not wait for its locks any longer.
const SETTINGS: &str = "
    SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;

    SELECT set_config('synchronous_commit', 'on', FALSE)
    WHERE current_setting('synchronous_commit') = 'off';

    SET idle_in_transaction_session_timeout = '60s'";

/// Creates a pool. Connections are opened when first needed, and tested when they are taken, so that those of a server
/// that has restarted are replaced.
pub(crate) fn pool(address: &PostgresAddress, count: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(count)
        .acquire_timeout(CONNECT)
        .test_before_acquire(true)
        .after_connect(|connection, _| {
            Box::pin(async move { connection.execute(sqlx::raw_sql(SETTINGS)).await.map(drop) })
        })
        .connect_lazy_with(address.0.clone())
}

/// Opens a connection that is not part of the pool.
pub(crate) async fn connect(address: &PostgresAddress) -> Result<PgConnection, PostgresOpenError> {
    let connected = tokio::time::timeout(CONNECT, address.0.connect()).await;
    let connected = connected.unwrap_or(Err(sqlx::Error::PoolTimedOut));
    Ok(connected.map_err(from_sqlx)?)
}
