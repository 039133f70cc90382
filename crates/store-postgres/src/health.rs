//! Whether the database can be written to, and whether damage was found in it.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use bethink_store::{HealthStore, OpenReport, StoreError, StoreFuture, StoreResult};
use tokio::sync::watch;

use crate::sql::sql;
use crate::store::PostgresStore;

const PROBE: &str = "
    UPDATE database_state
    SET probes = probes + 1";

/// What the store's calls have found. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreFindings {
    fault: Arc<watch::Sender<Option<StoreError>>>,
    damage: Arc<OnceLock<String>>,
}

impl StoreFindings {
    /// Records the error of a write that failed because of the server.
    pub(crate) fn of_write<T>(&self, outcome: StoreResult<T>) -> StoreResult<T> {
        outcome.inspect_err(|error| match error {
            error if error.is_of_the_disk() => self.set_fault(Some(error.clone())),
            other => self.note_damage(other),
        })
    }

    /// Records the error of a read. If the server cannot be reached, it cannot be written to either.
    pub(crate) fn of_read<T>(&self, outcome: StoreResult<T>) -> StoreResult<T> {
        outcome.inspect_err(|error| match error {
            StoreError::Server(_) => self.set_fault(Some(error.clone())),
            other => self.note_damage(other),
        })
    }

    pub(crate) fn set_fault(&self, fault: Option<StoreError>) {
        self.fault.send_replace(fault);
    }

    fn note_damage(&self, error: &StoreError) {
        if let StoreError::Damaged(why) = error
            && self.damage.set(why.clone()).is_ok()
        {
            tracing::error!(why, "the database is damaged; restore it from a backup");
        }
    }
}

impl HealthStore for PostgresStore {
    fn fault(&self) -> Option<StoreError> {
        self.findings.fault.borrow().clone()
    }

    fn failed(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        // Fails only after the last handle was dropped.
        Box::pin(async { drop(self.findings.fault.subscribe().wait_for(Option::is_some).await) })
    }

    fn probe(&self) -> StoreFuture<'_, Option<OpenReport>> {
        Box::pin(async {
            if let Some(hold) = &self.hold {
                self.findings.of_write(hold.renew().await)?;
            }
            self.run(sql(PROBE)).await?;
            self.findings.set_fault(None);
            Ok(None)
        })
    }

    fn note_fault(&self, fault: StoreError) {
        self.findings.set_fault(Some(fault));
    }

    fn damage(&self) -> Option<&str> {
        self.findings.damage.get().map(String::as_str)
    }
}
