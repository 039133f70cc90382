//! Connections.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bethink_store::{StoreError, StoreResult};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection};
use tokio::time::timeout;
use uuid::Uuid;

use crate::address::{PostgresAddress, socket_folder};
use crate::error::from_sqlx;
use crate::findings::StoreFindings;
use crate::opened::PostgresOpenError;
use crate::options::{CONNECT, TEST_AFTER_IDLE};

/// PostgreSQL's error code for a database that does not exist, and the class of those for a login that failed.
const UNKNOWN_DATABASE: &str = "3D000";
const BAD_LOGIN: &str = "28";

/// Settings that the guarantees of this store depend on. A setting that is stricter than ours stays.
///
/// The limits, in milliseconds: a statement runs and waits for locks for less than this process waits for its answer. If
/// this process hangs in a transaction, or its machine is gone, the server ends the transaction, so that other processes do
/// not wait for its locks any longer. Settings that the server does not have are left out.
///
/// The search path is reduced to the current schema, because other people may be able to create functions in other schemas.
///
/// PostgreSQL keeps the plans of a connection's statements. A plan that was made while a table was small would read all of it when it
/// is large, so indexes are used from the start. A table that has to be read all the same then seems so expensive that the server would
/// compile the statement first: a search in a million messages took 560 ms instead of 37.
const SETTINGS: &str = "
    SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;

    SELECT set_config(name, '0', FALSE)
    FROM pg_settings
    WHERE name = 'idle_session_timeout';

    SELECT set_config('search_path', quote_ident(current_schema()), FALSE)
    WHERE current_schema() IS NOT NULL;

    SET enable_seqscan = off;

    SET jit = off;

    SELECT set_config('synchronous_commit', 'on', FALSE)
    WHERE current_setting('synchronous_commit') = 'off';

    SELECT set_config(name, most, FALSE)
    FROM pg_settings
    JOIN (
        VALUES ('statement_timeout', '15000'),
               ('lock_timeout', '10000'),
               ('idle_in_transaction_session_timeout', '60000'),
               ('tcp_user_timeout', '30000'),
               ('tcp_keepalives_idle', '15'),
               ('tcp_keepalives_interval', '5'),
               ('tcp_keepalives_count', '3')
    ) AS limits (name, most)
      USING (name)
    WHERE setting::BIGINT = 0
       OR setting::BIGINT > most::BIGINT";

const USE_SCHEMA: &str = "SELECT set_config('search_path', quote_ident($1), FALSE)";

/// What each connection of a daemon says about it. Functions of the schema read it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DaemonSettings {
    pub(crate) number: i64,
    pub(crate) home: Uuid,
}

impl DaemonSettings {
    fn statement(self) -> String {
        let Self { number, home } = self;
        format!(
            "SELECT set_config('bethink.daemon', '{number}', FALSE), set_config('bethink.home', '{home}', FALSE)"
        )
    }

    /// Sets it on a connection that is not part of a pool.
    pub(crate) async fn set(self, db: &mut PgConnection) -> StoreResult<()> {
        db.execute(sqlx::raw_sql(AssertSqlSafe(self.statement())))
            .await
            .map(drop)
            .map_err(from_sqlx)
    }
}

/// Creates a pool. Connections are opened when first needed. Those that were idle for a second, or when a fault was found, are
/// tested when they are taken, so that those of a server that has restarted are replaced.
pub(crate) fn pool(
    address: &PostgresAddress,
    count: u32,
    daemon: Option<DaemonSettings>,
    findings: &StoreFindings,
    schema: &Arc<OnceLock<String>>,
) -> PgPool {
    let findings = findings.clone();
    pool_options(count, daemon, Some(Arc::clone(schema)))
        .before_acquire(move |connection, state| {
            let is_trusted = state.idle_for < TEST_AFTER_IDLE
                && !findings.has_fault_since(Instant::now() - state.idle_for);
            Box::pin(async move { Ok(is_trusted || connection.ping().await.is_ok()) })
        })
        .connect_lazy_with(address.options.clone())
}

/// Creates a pool whose only connection is kept as long as it is used.
pub(crate) fn lasting(address: &PostgresAddress) -> PgPool {
    let options = pool_options(1, None, None).max_lifetime(None).idle_timeout(None);
    options.connect_lazy_with(address.options.clone())
}

/// Once `schema` is known, each new connection uses it, even if this user may not use it for a while.
fn pool_options(
    count: u32,
    daemon: Option<DaemonSettings>,
    schema: Option<Arc<OnceLock<String>>>,
) -> PgPoolOptions {
    let daemon = daemon.map(DaemonSettings::statement).unwrap_or_default();
    let settings: Arc<str> = format!("{SETTINGS};\n{daemon}").into();
    PgPoolOptions::new()
        .max_connections(count)
        .acquire_timeout(CONNECT)
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            let settings = AssertSqlSafe(settings.to_string());
            let schema = schema.as_ref().and_then(|schema| schema.get().cloned());
            Box::pin(async move {
                connection.execute(sqlx::raw_sql(settings)).await?;
                match schema {
                    Some(schema) => {
                        sqlx::query(USE_SCHEMA).bind(schema).execute(connection).await.map(drop)
                    }
                    None => Ok(()),
                }
            })
        })
}

/// Opens a connection that is not part of the pool.
pub(crate) async fn connect(address: &PostgresAddress) -> Result<PgConnection, PostgresOpenError> {
    in_time(CONNECT, address.options.connect()).await.map_err(|error| {
        let code = error.as_database_error().and_then(|error| error.code().map(Cow::into_owned));
        match (code.unwrap_or_default().as_str(), not_connected(&address.options, error)) {
            (UNKNOWN_DATABASE, StoreError::Server(why)) => PostgresOpenError::Refused(why),
            (code, StoreError::Server(why)) if code.starts_with(BAD_LOGIN) => {
                PostgresOpenError::Refused(why)
            }
            (_, error) => error.into(),
        }
    })
}

/// Says why there is no connection. The system's error does not name the socket.
pub(crate) fn not_connected(options: &PgConnectOptions, error: sqlx::Error) -> StoreError {
    match (socket_folder(options), error) {
        (Some(folder), sqlx::Error::Io(cause)) => {
            StoreError::Server(format!("no connection to the socket in {folder}: {cause}"))
        }
        (_, error) => from_sqlx(error),
    }
}

/// Waits for the server, but not for ever: a connection to a machine that is gone does not end by itself.
pub(crate) async fn in_time<T>(
    most: Duration,
    work: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    timeout(most, work).await.unwrap_or_else(|_| Err(sqlx::Error::PoolTimedOut))
}
