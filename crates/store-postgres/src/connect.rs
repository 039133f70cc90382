//! Connections.

use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{ConnectOptions, Executor, PgConnection};

use crate::error::from_sqlx;
use crate::opened::PostgresOpenError;
use crate::options::{CONNECT, PostgresOptions};

/// Settings that the guarantees of this store depend on. A setting that is stricter than ours stays.
const SETTINGS: &str = "
    SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;

    SELECT set_config('synchronous_commit', 'on', FALSE)
    WHERE current_setting('synchronous_commit') = 'off'";

/// Creates the pool. Connections are opened when first needed, and tested when they are taken, so that those of a server
/// that has restarted are replaced.
pub(crate) fn pool(options: &PostgresOptions) -> PgPool {
    PgPoolOptions::new()
        .max_connections(options.connections.max(1))
        .acquire_timeout(CONNECT)
        .test_before_acquire(true)
        .after_connect(|connection, _| {
            Box::pin(async move { connection.execute(sqlx::raw_sql(SETTINGS)).await.map(drop) })
        })
        .connect_lazy_with(options.address.0.clone())
}

/// Opens a connection that is not part of the pool.
pub(crate) async fn connect(options: &PostgresOptions) -> Result<PgConnection, PostgresOpenError> {
    let connected = tokio::time::timeout(CONNECT, options.address.0.connect()).await;
    let connected = connected.unwrap_or(Err(sqlx::Error::PoolTimedOut));
    Ok(connected.map_err(from_sqlx)?)
}
