//! Whether the database can be written to, and whether damage was found in it.

use std::pin::Pin;

use bethink_store::{HealthStore, OpenReport, StoreError, StoreFuture, StoreResult};

use crate::sql::sql;
use crate::store::PostgresStore;

const PROBE: &str = "
    UPDATE database_state
    SET probes = probes + 1";

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
            if self.schema.get().is_none() {
                let opened = self.open_now().await.map_err(StoreError::from);
                self.findings.set_fault(opened.as_ref().err().cloned());
                return opened.map(|report| Some(report.into()));
            }
            self.renew_presence().await?;
            self.run(sql(PROBE)).await?;
            // The connection may have been lost meanwhile.
            self.renew_presence().await?;
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

impl PostgresStore {
    async fn renew_presence(&self) -> StoreResult<()> {
        match &self.presence {
            Some(presence) => self.findings.of_write(self.with_cause(presence.renew().await).await),
            None => Ok(()),
        }
    }
}
