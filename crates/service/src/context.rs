//! The handle that every service holds.

use std::future::Future;
use std::sync::Arc;

use bethink_config::Settings;
use bethink_store::{Receipt, Store};
use bethink_transcript::UnixMicros;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::continue_on_drop::ContinueOnDrop;
use crate::error::{ErrorKind, Result, ServiceError};
use crate::hub::EventHub;
use crate::jobs::JobQueue;
use crate::recording::RecordingRules;
use crate::storage::StorageNews;

/// The state that all services share. Clones share the same state.
#[derive(Clone)]
pub struct ServiceContext {
    shared: Arc<ContextInner>,
}

struct ContextInner {
    settings: Settings,
    clock: Arc<dyn Clock>,
    store: Arc<dyn Store>,
    hub: EventHub,
    jobs: JobQueue,
    storage: StorageNews,
    recording: RecordingRules,
    tracker: TaskTracker,
    /// Cancelled when no more models may be called.
    closing: CancellationToken,
    stop: CancellationToken,
}

impl std::fmt::Debug for ServiceContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let home = &self.shared.settings.home;
        f.debug_struct("ServiceContext").field("home", home).finish_non_exhaustive()
    }
}

impl ServiceContext {
    pub fn new(settings: Settings, clock: Arc<dyn Clock>, store: Arc<dyn Store>) -> Self {
        let stop = CancellationToken::new();
        let hub = EventHub::new(clock.now().0, stop.clone());
        let jobs = JobQueue::new(Arc::clone(&store), Arc::clone(&clock));
        let (tracker, closing) = (TaskTracker::new(), CancellationToken::new());
        let storage = StorageNews::default();
        let recording = RecordingRules::new(&settings);
        let shared = ContextInner {
            settings,
            clock,
            store,
            hub,
            jobs,
            storage,
            recording,
            tracker,
            closing,
            stop,
        };
        Self { shared: Arc::new(shared) }
    }

    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    pub fn now(&self) -> UnixMicros {
        self.shared.clock.now()
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    pub fn store(&self) -> &dyn Store {
        &*self.shared.store
    }

    pub fn store_handle(&self) -> Arc<dyn Store> {
        Arc::clone(&self.shared.store)
    }

    pub fn hub(&self) -> &EventHub {
        &self.shared.hub
    }

    pub fn jobs(&self) -> &JobQueue {
        &self.shared.jobs
    }

    pub fn storage(&self) -> &StorageNews {
        &self.shared.storage
    }

    pub fn recording(&self) -> &RecordingRules {
        &self.shared.recording
    }

    /// Returns a token that is cancelled when no more models may be called. Requests that are waiting for a model then
    /// continue without one.
    pub fn closing(&self) -> &CancellationToken {
        &self.shared.closing
    }

    /// Returns a token that is cancelled when the daemon stops.
    pub fn stopping(&self) -> &CancellationToken {
        &self.shared.stop
    }

    /// Runs `work` to its end, even if the caller goes away.
    pub fn run_to_completion<F>(&self, work: F) -> ContinueOnDrop<F>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        ContinueOnDrop::new(&self.shared.tracker, work)
    }

    /// Spawns a task that shutdown waits for, and that continues if the caller goes away.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.shared.tracker.spawn(work)
    }

    /// Stops the spawned tasks, and waits for them.
    pub async fn stop(&self) {
        self.shared.closing.cancel();
        self.shared.stop.cancel();
        self.shared.tracker.close();
        self.shared.tracker.wait().await;
    }

    /// Returns the response that was sent for this key, if any.
    pub async fn kept_answer(&self, key: &Receipt) -> Result<Option<String>> {
        match self.store().receipt(key.key.clone()).await? {
            None => Ok(None),
            Some(kept) if kept.fingerprint == key.fingerprint => Ok(Some(kept.answer)),
            Some(_) => {
                let detail = "this Idempotency-Key was already used for a different request";
                Err(ServiceError::new(ErrorKind::KeyReused, detail)
                    .hint("use a new Idempotency-Key for each request"))
            }
        }
    }

    pub async fn keep_answer(&self, key: Receipt, answer: String) -> Result<()> {
        Ok(self.store().put_receipt(key, answer, self.now()).await?)
    }
}
