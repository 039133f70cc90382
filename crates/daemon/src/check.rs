//! Checks the whole database in the background, at most once a day: after a start that had no time for it, and later
//! when something is appended, so that an idle daemon needs no timer.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bethink_service::{ServiceContext, at_low_priority};
use bethink_store_sqlite::{OpenReport, SqliteStore};
use tokio::runtime::Handle;

/// Time between two checks, in microseconds.
const EVERY: i64 = 24 * 3600 * 1_000_000;

/// The check of a database; clones share its state.
#[derive(Clone, Debug)]
pub(crate) struct DailyCheck {
    cx: ServiceContext,
    store: SqliteStore,
    /// Time of the next check, in microseconds since 1970. Never, until the database is open.
    next: Arc<AtomicI64>,
}

impl DailyCheck {
    pub(crate) fn new(cx: ServiceContext, store: SqliteStore) -> Self {
        Self { cx, store, next: Arc::new(AtomicI64::new(i64::MAX)) }
    }

    /// Plans the next check of a database that was opened now.
    pub(crate) fn plan(&self, opened: &OpenReport) {
        let now = self.cx.now().0;
        let next = match self.store.checked_at() {
            _ if opened.check_due => now,
            _ if opened.new => now + EVERY,
            Some(last) => last.0.saturating_add(EVERY),
            None => now,
        };
        self.next.store(next, Ordering::Relaxed);
        self.run_if_due();
    }

    /// Starts the check if it is due.
    pub(crate) fn run_if_due(&self) {
        let now = self.cx.now().0;
        let due = self.next.load(Ordering::Relaxed);
        let is_mine = || {
            let next = now + EVERY;
            self.next.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if now >= due && is_mine() {
            self.cx.spawn(self.clone().run());
        }
    }

    async fn run(self) {
        let (store, stop, runtime) =
            (self.store.clone(), self.cx.stopping().clone(), Handle::current());
        // SQLite's thread for this connection inherits the low priority.
        let checked = at_low_priority(move || {
            runtime.block_on(async {
                tokio::select! {
                    checked = store.check() => Some(checked),
                    () = stop.cancelled() => None,
                }
            })
        });
        let stored = match checked.await {
            Ok(Some(Ok(_))) => self.store.note_checked(self.cx.now()),
            Ok(Some(Err(error))) => Err(error),
            Ok(None) | Err(_) => return,
        };
        if let Err(error) = stored {
            tracing::warn!(%error, "could not check the database; it is tried again tomorrow");
        }
    }
}
