//! The spool. It holds events that hooks could not deliver, and events that the daemon has not finished handling.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bethink_hook_events::Delivery;
use bethink_service::{Result, ServiceError};
use bethink_spool::Spool;

use crate::service::HookService;
use crate::take::may_succeed_later;

/// How long to wait before each check of the spool. By the first check, a hook that gave up waiting has put its event
/// into the spool; by the second, it has done so even on a machine so busy that this takes seconds.
const CHECKS_AFTER: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

impl HookService {
    /// Schedules checks of the spool. Called when a hook has connected, even if it no longer waits for an answer.
    pub fn expect_hook(&self) {
        if self.inner.is_looking.swap(true, Ordering::Relaxed) {
            return;
        }
        let (hooks, stop) = (self.clone(), self.cx.stopping().clone());
        self.cx.spawn(async move {
            for wait in CHECKS_AFTER {
                if tokio::time::timeout(wait, stop.cancelled()).await.is_ok() {
                    return;
                }
                hooks.inner.is_looking.store(false, Ordering::Relaxed);
                hooks.drain_spool();
            }
        });
    }

    /// Handles the events in the spool in order, in the background. Called at startup and for every hook, because an
    /// earlier hook may have found the daemon busy.
    pub fn drain_spool(&self) {
        let hooks = self.clone();
        self.cx.spawn(async move {
            let _one = hooks.inner.delivering.lock().await;
            if let Err(error) = hooks.empty_spool().await {
                tracing::warn!(reason = %error.detail, "could not process all hook events in the spool; trying the rest again later");
            }
        });
    }

    async fn empty_spool(&self) -> Result<()> {
        let names = self.in_spool(Spool::names).await?;
        for name in names {
            if self.cx.stopping().is_cancelled() {
                return Ok(());
            }
            let this = name.clone();
            match self.in_spool(move |spool| spool.read(&this)).await? {
                Some(delivery) => match self.take(&delivery).await {
                    Err(error) if may_succeed_later(&error) => return Err(error),
                    Err(error) => {
                        tracing::warn!(event = %delivery.event, reason = %error.detail, "could not process an event from the spool");
                    }
                    Ok(()) => metrics::counter!("bethink_hook_events_spooled_total").increment(1),
                },
                None => tracing::warn!(
                    file = name,
                    "dropping a spool file that does not contain a valid event"
                ),
            }
            self.in_spool(move |spool| spool.remove(&name)).await?;
        }
        Ok(())
    }

    pub(crate) async fn put_into_spool(&self, delivery: &Delivery) -> Result<()> {
        let delivery = delivery.clone();
        let dropped = self.in_spool(move |spool| spool.put(&delivery)).await?;
        if dropped > 0 {
            tracing::warn!(
                dropped,
                "dropped the oldest events, because too many were waiting in the spool"
            );
        }
        Ok(())
    }

    pub(crate) async fn take_out_of_spool(&self, delivery: &Delivery) {
        let name = delivery.file_name();
        let removed = self.in_spool(move |spool| spool.remove(&name)).await;
        if let Err(error) = removed {
            // The event has already been handled, and its ID keeps it from being handled again.
            tracing::debug!(reason = %error.detail, "could not remove an event from the spool");
        }
    }

    async fn in_spool<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Spool) -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let spool = self.inner.spool.clone();
        let done = tokio::task::spawn_blocking(move || work(&spool)).await;
        done.map_err(ServiceError::internal)?.map_err(|error| {
            let error = ServiceError::of_file("could not use the spool for hook events", &error);
            self.cx.storage().suspect(&error);
            error
        })
    }
}
