//! Opens the database: checks whose it is, migrates it, and takes it for the daemon.

use sqlx::{Connection, PgConnection};
use tokio::time::timeout;

use crate::connect::connect;
use crate::hold::{DatabaseClaim, DatabaseHold};
use crate::opened::{PostgresOpenError, PostgresOpenReport};
use crate::options::{PREPARE, PostgresOptions};
use crate::schema;
use crate::sql::sql;
use crate::store::PostgresStore;

const ENCODING: &str = "SELECT current_setting('server_encoding')";

const UNSAFE: &str = "
    SELECT current_setting('fsync') = 'off'
        OR current_setting('full_page_writes') = 'off'";

impl PostgresStore {
    /// Opens the store. The schema of an empty or older database is brought up to date; a newer or another one is
    /// refused and not changed. Must be called within a Tokio runtime.
    pub async fn open(
        options: &PostgresOptions,
    ) -> Result<(Self, PostgresOpenReport), PostgresOpenError> {
        let mut db = connect(&options.address).await?;
        // Before anything is changed, because another daemon may be using the database.
        let claim = match &options.holder {
            Some(name) => Some((name, DatabaseClaim::new(&options.address).await?)),
            None => None,
        };
        let prepared = timeout(PREPARE, prepare(&mut db)).await;
        let report = prepared.map_err(|_| {
            PostgresOpenError::Migrate("the server did not answer in time".to_owned())
        })??;
        // Only ends the connection sooner: nothing depends on it.
        drop(db.close().await);
        if report.unsafe_settings {
            tracing::warn!(
                "the database server may lose data in a power failure: set fsync and full_page_writes to on"
            );
        }
        let hold = match claim {
            Some((name, claim)) => Some(DatabaseHold::take(&options.address, name, claim).await?),
            None => None,
        };
        Ok((Self::start(options, hold), report))
    }
}

async fn prepare(db: &mut PgConnection) -> Result<PostgresOpenReport, PostgresOpenError> {
    let encoding: String = sql(ENCODING).value(&mut *db).await?;
    if encoding != "UTF8" {
        return Err(PostgresOpenError::Encoding(encoding));
    }
    let unsafe_settings = sql(UNSAFE).value(&mut *db).await?;
    let new = schema::prepare(db).await?;
    Ok(PostgresOpenReport { new, unsafe_settings })
}
