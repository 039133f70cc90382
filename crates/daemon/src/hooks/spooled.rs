//! The spool: events that hooks could not hand over, and those that are not finished.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bethink_hooks::Delivery;

use super::take::may_pass;
use crate::{Daemon, Refusal, Result};

/// A hook that found the daemon too slow has put its event into the spool by then.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Daemon {
    /// A hook has come, whether or not it stays for an answer: the spool is looked into a moment later.
    pub fn expect_hook(&self) {
        if self.hook_desk().is_looking.swap(true, Ordering::Relaxed) {
            return;
        }
        let (daemon, stop) = (self.clone(), self.stopping());
        self.spawn(async move {
            let waited = tokio::time::timeout(LOOK_AGAIN, stop.cancelled()).await;
            daemon.hook_desk().is_looking.store(false, Ordering::Relaxed);
            if waited.is_err() {
                daemon.deliver_what_waits();
            }
        });
    }

    /// Takes what waits in the spool, in order, beside everything else. Called at the start and with every hook,
    /// since the last one may have found the daemon busy.
    pub(crate) fn deliver_what_waits(&self) {
        let daemon = self.clone();
        self.spawn(async move {
            let _one = daemon.hook_desk().delivering.lock().await;
            if let Err(refusal) = daemon.empty_spool().await {
                tracing::warn!(reason = %refusal.detail, "events of clients go on waiting in the spool");
            }
        });
    }

    async fn empty_spool(&self) -> Result<()> {
        let spool = self.hook_desk().spool.clone();
        let names = blocking(move |_| spool.names(), self).await?;
        for name in names {
            if self.stopping().is_cancelled() {
                return Ok(());
            }
            let this = name.clone();
            match blocking(move |daemon| daemon.hook_desk().spool.read(&this), self).await? {
                Some(delivery) => match self.take(&delivery).await {
                    Err(refusal) if may_pass(&refusal) => return Err(refusal),
                    Err(refusal) => {
                        tracing::warn!(event = %delivery.event, reason = %refusal.detail, "an event from the spool had no effect");
                    }
                    Ok(()) => metrics::counter!("bethink_hooks_spooled_total").increment(1),
                },
                None => tracing::warn!(file = name, "a file in the spool is no event, or damaged"),
            }
            blocking(move |daemon| daemon.hook_desk().spool.remove(&name), self).await?;
        }
        Ok(())
    }

    pub(super) async fn put_into_spool(&self, delivery: &Delivery) -> Result<()> {
        let delivery = delivery.clone();
        let dropped = blocking(move |daemon| daemon.hook_desk().spool.put(&delivery), self).await?;
        if dropped > 0 {
            tracing::warn!(dropped, "the oldest events had to go, as too many wait in the spool");
        }
        Ok(())
    }

    pub(super) async fn take_out_of_spool(&self, delivery: &Delivery) {
        let name = delivery.file_name();
        let removed = blocking(move |daemon| daemon.hook_desk().spool.remove(&name), self).await;
        if let Err(refusal) = removed {
            // It is taken, and so it will not be taken again.
            tracing::debug!(reason = %refusal.detail, "an event stays in the spool");
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&Daemon) -> std::io::Result<T> + Send + 'static,
    daemon: &Daemon,
) -> Result<T> {
    let daemon = daemon.clone();
    let done = tokio::task::spawn_blocking(move || work(&daemon)).await;
    done.map_err(Refusal::internal)?
        .map_err(|error| Refusal::internal(format!("we could not use the spool of hooks: {error}")))
}
