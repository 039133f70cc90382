//! What calls of the store have found out about the database.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use bethink_store::{StoreError, StoreResult};
use tokio::sync::watch;

/// What the store's calls have found. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreFindings {
    pub(crate) fault: Arc<watch::Sender<Option<StoreError>>>,
    pub(crate) damage: Arc<OnceLock<String>>,
    last_fault: Arc<Mutex<Option<Instant>>>,
}

impl StoreFindings {
    /// Records the error of a write that failed because of the server.
    pub(crate) fn of_write<T>(&self, outcome: StoreResult<T>) -> StoreResult<T> {
        outcome.inspect_err(|error| match error {
            error if error.is_of_the_disk() => self.set_fault(Some(error.clone())),
            other => self.note_damage(other),
        })
    }

    /// Records the error of a read. If the server cannot be reached or refuses a read, it cannot be written to either.
    pub(crate) fn of_read<T>(&self, outcome: StoreResult<T>) -> StoreResult<T> {
        outcome.inspect_err(|error| match error {
            StoreError::Server(_) | StoreError::Contended(_) | StoreError::Denied(_) => {
                self.set_fault(Some(error.clone()));
            }
            other => self.note_damage(other),
        })
    }

    pub(crate) fn set_fault(&self, fault: Option<StoreError>) {
        if fault.is_some() {
            *self.last_fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        self.fault.send_replace(fault);
    }

    /// Returns whether a fault was found since then. What ended one connection has often ended all of them.
    pub(crate) fn has_fault_since(&self, then: Instant) -> bool {
        let last = *self.last_fault.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|last| last >= then)
    }

    fn note_damage(&self, error: &StoreError) {
        if let StoreError::Damaged(why) = error
            && self.damage.set(why.clone()).is_ok()
        {
            tracing::error!(why, "the database is damaged; restore it from a backup");
        }
    }
}
