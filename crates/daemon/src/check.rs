//! Checks the whole database in the background: after an unclean stop, and otherwise at most once a day, at a start or
//! when something is appended, so that an idle daemon needs no timer.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bethink_service::{ServiceContext, at_low_priority};
use bethink_store::{OpenReport, StoreResult};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Time between two checks, in microseconds.
const EVERY: i64 = 24 * 3600 * 1_000_000;

/// The check of a database; clones share its state.
#[derive(Clone, Debug)]
pub(crate) struct DailyCheck {
    cx: ServiceContext,
    /// Time of the next check, in microseconds since 1970; `i64::MAX` until the database is open.
    next: Arc<AtomicI64>,
}

impl DailyCheck {
    pub(crate) fn new(cx: ServiceContext) -> Self {
        Self { cx, next: Arc::new(AtomicI64::new(i64::MAX)) }
    }

    /// Plans the next check of a database that was just opened. Starts it if it is due.
    pub(crate) async fn plan(&self, opened: &OpenReport) -> Option<JoinHandle<()>> {
        let now = self.cx.now().0;
        // If the time of the last check cannot be read, it is checked again.
        let checked = self.cx.store().checked_at().await.unwrap_or_default();
        let next = match checked {
            _ if opened.check_due => now,
            _ if opened.new => now + EVERY,
            Some(last) => last.0.saturating_add(EVERY),
            None => now,
        };
        self.next.store(next, Ordering::Relaxed);
        self.run_if_due()
    }

    /// Starts the check if it is due.
    pub(crate) fn run_if_due(&self) -> Option<JoinHandle<()>> {
        let now = self.cx.now().0;
        let due = self.next.load(Ordering::Relaxed);
        let is_mine = || {
            let next = now + EVERY;
            self.next.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        (now >= due && is_mine()).then(|| self.cx.spawn(self.clone().run()))
    }

    async fn run(self) {
        if let Err(error) = self.check().await {
            tracing::warn!(
                %error,
                "could not check the database; trying again at the next start, or when the first message after 24 hours is stored"
            );
        }
    }

    async fn check(&self) -> StoreResult<()> {
        // If this check does not finish, the next start repeats it.
        self.cx.store().set_checked_at(None).await?;
        let (store, stop, runtime) =
            (self.cx.store_handle(), self.cx.stopping().clone(), Handle::current());
        // SQLite's thread for this connection, if any, inherits the low priority.
        let checked = at_low_priority(move || {
            runtime.block_on(async {
                tokio::select! {
                    checked = store.check() => Some(checked),
                    () = stop.cancelled() => None,
                }
            })
        });
        let Ok(Some(checked)) = checked.await else { return Ok(()) };
        checked?;
        self.cx.store().set_checked_at(Some(self.cx.now())).await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

    use std::path::Path;

    use bethink_config::Settings;
    use bethink_service::Clock;
    use bethink_store_sqlite::{Options, SqliteStore};
    use bethink_transcript::UnixMicros;
    use tempfile::TempDir;

    use super::*;

    /// A clock that only tests move.
    #[derive(Debug)]
    struct TestClock(AtomicI64);

    impl Clock for TestClock {
        fn now(&self) -> UnixMicros {
            UnixMicros(self.0.load(Ordering::Relaxed))
        }
    }

    /// A home whose daemon was started.
    struct Started {
        clock: Arc<TestClock>,
        opened: OpenReport,
        check: DailyCheck,
    }

    impl Started {
        async fn at(home: &Path, now: i64) -> Self {
            let clock = Arc::new(TestClock(AtomicI64::new(now)));
            let options = Options::new(clock.now());
            let (store, opened) =
                SqliteStore::open(&home.join("bethink.db"), options).await.unwrap();
            let shared: Arc<dyn Clock> = clock.clone();
            let cx = ServiceContext::new(Settings::at(home), shared, Arc::new(store));
            Self { clock, opened, check: DailyCheck::new(cx) }
        }

        /// Plans the next check. Returns whether one was due at once and ended.
        async fn checks_at_once(&self) -> bool {
            ended(self.check.plan(&self.opened).await).await
        }

        async fn checks_at(&self, now: i64) -> bool {
            self.clock.0.store(now, Ordering::Relaxed);
            ended(self.check.run_if_due()).await
        }

        async fn checked_at(&self) -> Option<UnixMicros> {
            self.check.cx.store().checked_at().await.unwrap()
        }

        async fn stop(self) {
            self.check.cx.stop().await;
            self.check.cx.store().close().await.unwrap();
        }
    }

    async fn ended(check: Option<JoinHandle<()>>) -> bool {
        match check {
            Some(check) => check.await.is_ok(),
            None => false,
        }
    }

    const NOW: i64 = 1_700_000_000_000_000;

    #[tokio::test]
    async fn a_check_runs_once_a_day_however_often_something_is_appended() {
        let home = TempDir::new().unwrap();
        let started = Started::at(home.path(), NOW).await;
        assert!(!started.checks_at(NOW + 9 * EVERY).await, "no check is planned yet");
        started.clock.0.store(NOW, Ordering::Relaxed);
        assert!(!started.checks_at_once().await, "a new database needs no check");
        assert!(!started.checks_at(NOW + EVERY - 1).await);
        assert!(started.checks_at(NOW + EVERY).await);
        assert_eq!(started.checked_at().await, Some(UnixMicros(NOW + EVERY)));
        assert!(!started.checks_at(NOW + 2 * EVERY - 1).await);
        assert!(started.checks_at(NOW + 2 * EVERY).await);
        started.stop().await;
    }

    #[tokio::test]
    async fn a_start_knows_the_last_check() {
        let home = TempDir::new().unwrap();
        Started::at(home.path(), NOW).await.stop().await;
        let second = Started::at(home.path(), NOW + 1).await;
        assert!(second.checks_at_once().await, "no earlier check is known");
        second.stop().await;
        let third = Started::at(home.path(), NOW + EVERY).await;
        assert!(!third.checks_at_once().await, "the last check was less than a day ago");
        assert!(third.checks_at(NOW + EVERY + 1).await);
        third.stop().await;
    }

    #[tokio::test]
    async fn an_interrupted_check_is_repeated_after_the_next_start() {
        let home = TempDir::new().unwrap();
        let first = Started::at(home.path(), NOW).await;
        first.check.cx.store().set_checked_at(Some(UnixMicros(NOW))).await.unwrap();
        // As after a crash, although today's check was already done.
        let crashed = Started { opened: OpenReport { check_due: true, ..first.opened }, ..first };
        crashed.check.cx.stopping().cancel();
        assert!(crashed.checks_at_once().await, "the interrupted check ends");
        assert_eq!(crashed.checked_at().await, None, "but it is not recorded as done");
        crashed.stop().await;
        let second = Started::at(home.path(), NOW + 1).await;
        assert!(!second.opened.check_due, "the stop was clean");
        assert!(second.checks_at_once().await);
        assert_eq!(second.checked_at().await, Some(UnixMicros(NOW + 1)));
        second.stop().await;
    }
}
