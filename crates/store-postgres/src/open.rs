//! Opens the database: checks whose it is, migrates it, and joins the daemons that use it.

use bethink_store::StoreError;
use sqlx::{Connection, PgConnection};
use tokio::time::timeout;

use crate::connect::connect;
use crate::opened::{PostgresOpenError, PostgresOpenReport};
use crate::options::{PREPARE, PostgresOptions};
use crate::presence::DaemonClaim;
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
        let store = Self::start(options);
        let report = store.open_now().await?;
        Ok((store, report))
    }

    /// Does the same, but a server that does not answer is only a fault of the store:
    /// [`probe`](bethink_store::HealthStore::probe) opens the database when the server is back. Until then, every call fails.
    pub async fn open_or_wait(
        options: &PostgresOptions,
    ) -> Result<(Self, PostgresOpenReport), PostgresOpenError> {
        let store = Self::start(options);
        match store.open_now().await {
            Ok(report) => Ok((store, report)),
            Err(PostgresOpenError::Unreachable(why)) => {
                store.findings.set_fault(Some(StoreError::Server(why)));
                Ok((store, PostgresOpenReport::default()))
            }
            Err(refused) => Err(refused),
        }
    }

    /// Opens the database. Once this has succeeded, other calls do.
    pub(crate) async fn open_now(&self) -> Result<PostgresOpenReport, PostgresOpenError> {
        let address = &self.options.address;
        let mut db = connect(address).await?;
        let mut claim = match &self.presence {
            Some(presence) => Some(DaemonClaim::new(address, presence).await?),
            None => None,
        };
        let prepared = timeout(PREPARE, prepare(&mut db, claim.as_mut())).await;
        let report = prepared.map_err(|_| {
            PostgresOpenError::Migrate("the server did not answer in time".to_owned())
        })??;
        // Only now, because a copy may begin as long as this daemon does not have its lock.
        if schema::has_unfinished_copy(&mut db).await? {
            return Err(PostgresOpenError::Unfinished);
        }
        let schema = schema::name(&mut db).await?;
        // Only ends the connection sooner: nothing depends on it.
        drop(db.close().await);
        if report.unsafe_settings {
            tracing::warn!(
                "the database server may lose data in a power failure: set fsync and full_page_writes to on"
            );
        }
        if let Some((presence, claim)) = self.presence.as_ref().zip(claim) {
            presence.join(claim).await?;
        }
        // It was set before if two calls opened the database.
        let _ = self.schema.set(schema);
        Ok(report)
    }
}

async fn prepare(
    db: &mut PgConnection,
    claim: Option<&mut DaemonClaim>,
) -> Result<PostgresOpenReport, PostgresOpenError> {
    check_encoding(db).await?;
    let unsafe_settings = sql(UNSAFE).value(&mut *db).await?;
    let new = schema::prepare(db, claim).await?;
    Ok(PostgresOpenReport { new, unsafe_settings })
}

pub(crate) async fn check_encoding(db: &mut PgConnection) -> Result<(), PostgresOpenError> {
    let encoding: String = sql(ENCODING).value(db).await?;
    match encoding.as_str() {
        "UTF8" => Ok(()),
        _ => Err(PostgresOpenError::Encoding(encoding)),
    }
}
