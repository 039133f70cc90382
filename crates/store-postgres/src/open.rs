//! Opens the database: checks whose it is, migrates it, and joins the daemons that use it.

use sqlx::{Connection, PgConnection};
use tokio::time::timeout;

use crate::connect::connect;
use crate::opened::{PostgresOpenError, PostgresOpenReport};
use crate::options::{PREPARE, PostgresOptions};
use crate::presence::{DaemonClaim, Presence};
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
        let mut claim = match &options.daemon {
            Some(identity) => Some(DaemonClaim::new(&options.address, identity).await?),
            None => None,
        };
        let prepared = timeout(PREPARE, prepare(&mut db, claim.as_mut())).await;
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
        let presence = match claim {
            Some(claim) => Some(Presence::join(claim).await?),
            None => None,
        };
        Ok((Self::start(options, presence), report))
    }
}

async fn prepare(
    db: &mut PgConnection,
    claim: Option<&mut DaemonClaim>,
) -> Result<PostgresOpenReport, PostgresOpenError> {
    let encoding: String = sql(ENCODING).value(&mut *db).await?;
    if encoding != "UTF8" {
        return Err(PostgresOpenError::Encoding(encoding));
    }
    let unsafe_settings = sql(UNSAFE).value(&mut *db).await?;
    let new = schema::prepare(db, claim).await?;
    Ok(PostgresOpenReport { new, unsafe_settings })
}
