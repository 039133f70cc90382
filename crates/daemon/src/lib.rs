//! The daemon: boots, keeps sessions hot, makes turns, and is the only one that acts.
//!
//! Engines decide, the store keeps, this crate carries decisions out and makes them durable. Entrances
//! call [`Daemon`]'s methods; nothing here knows a route, a header or a status code.
//!
//! Reading order: `boot` → `sessions` → `messages` → `hot` → `cache` → `facts` → `turn` (`added`) → `report` →
//! `collapse` → `models` → `compactions` → `recover` → `state` → `events` → `jobs` → `import` → `index` →
//! `search` (`hit`) → `notes` → `memory` → `instructions` → `recall` → `extract` → `gateway` → `hooks` → `export` → `ledger`.

mod added;
mod boot;
mod cache;
mod clock;
mod collapse;
mod compactions;
mod decisions;
mod events;
mod export;
mod extract;
mod facts;
mod forks;
mod frame;
mod gateway;
mod hit;
mod hooks;
mod hot;
mod import;
mod index;
mod instructions;
mod jobs;
mod ledger;
mod limits;
mod memory;
mod messages;
mod models;
mod notes;
mod quiet;
mod recall;
mod recover;
mod refusal;
mod report;
mod search;
mod sessions;
mod state;
mod team;
mod turn;

use std::fs::File;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use bethink_api as api;
use bethink_config::Settings;
use bethink_store::{Receipt, Store};
use bethink_transcript::UnixMicros;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use boot::BootError;
pub use clock::{Clock, SystemClock};
pub use events::{AllEvents, Event, Events};
pub use export::Export;
pub use gateway::{ClientKey, Heard, Outcome, Piece, Prepared, Prompt, Ticket, Told};
pub use ledger::Spent;
pub use memory::{MAX_MEMORY_BYTES, MemoryFile, MemoryWish, Remembered};
pub use notes::{MAX_NOTES_BYTES, NotesFile};
pub use refusal::{Kind, Refusal};
pub use search::SearchRequest;
pub use state::StateKind;

pub type Result<T> = std::result::Result<T, Refusal>;

/// An `Idempotency-Key` and the fingerprint of the request it came with.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    pub key: String,
    pub fingerprint: String,
}

impl IdempotencyKey {
    fn receipt(self) -> Receipt {
        Receipt { key: self.key, fingerprint: self.fingerprint }
    }
}

/// A handle to the daemon; clones share it.
#[derive(Clone, Debug)]
pub struct Daemon {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    clock: Arc<dyn Clock>,
    store: Arc<dyn Store>,
    registry: hot::Registry,
    to_index: index::Queued,
    notes: notes::NotesDesk,
    models: models::ModelDesk,
    projects: memory::Projects,
    approvals: instructions::Approvals,
    dreams: memory::DreamDesk,
    extractions: extract::ExtractionDesk,
    hooks: hooks::HookDesk,
    gateway: gateway::GatewayDesk,
    /// Held for reading while a fork is copied.
    forks: tokio::sync::RwLock<()>,
    hub: events::Hub,
    ledger: ledger::Ledger,
    metrics: metrics_exporter_prometheus::PrometheusHandle,
    /// What was found broken; told by `health`.
    damage: Mutex<Option<String>>,
    tracker: TaskTracker,
    wake: Arc<Notify>,
    stop: CancellationToken,
    _lock: File,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").field("home", &self.settings.home).finish_non_exhaustive()
    }
}

impl Daemon {
    pub fn health(&self) -> api::Health {
        let damage = self.inner.damage.lock().unwrap_or_else(PoisonError::into_inner).clone();
        api::Health {
            status: if damage.is_some() { "degraded" } else { "ok" }.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            detail: damage,
            notices: self.models().notice().into_iter().chain(self.notes_faults()).collect(),
        }
    }

    /// Prometheus text.
    pub fn metrics(&self) -> String {
        self.inner.metrics.render()
    }

    /// The answer that was given under this key, if there was one.
    pub async fn kept_answer(&self, key: &IdempotencyKey) -> Result<Option<String>> {
        match self.store().receipt(key.key.clone()).await? {
            None => Ok(None),
            Some(kept) if kept.fingerprint == key.fingerprint => Ok(Some(kept.answer)),
            Some(_) => {
                Err(Refusal::new(Kind::KeyReused, "this Idempotency-Key came with another request")
                    .hint("use a new key for a new request"))
            }
        }
    }

    pub async fn keep_answer(&self, key: IdempotencyKey, answer: String) -> Result<()> {
        let now = self.now();
        Ok(self.store().put_receipt(key.receipt(), answer, now).await?)
    }

    fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    fn now(&self) -> UnixMicros {
        self.inner.clock.now()
    }

    fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    fn store_handle(&self) -> Arc<dyn Store> {
        Arc::clone(&self.inner.store)
    }

    fn registry(&self) -> &hot::Registry {
        &self.inner.registry
    }

    fn hub(&self) -> &events::Hub {
        &self.inner.hub
    }

    fn hot_budget(&self) -> usize {
        usize::try_from(self.settings().daemon.hot_bytes).unwrap_or(usize::MAX)
    }

    fn notes_desk(&self) -> &notes::NotesDesk {
        &self.inner.notes
    }

    fn models(&self) -> &models::ModelDesk {
        &self.inner.models
    }

    fn approvals(&self) -> &instructions::Approvals {
        &self.inner.approvals
    }

    fn projects_in_use(&self) -> &memory::Projects {
        &self.inner.projects
    }

    fn dreams(&self) -> &memory::DreamDesk {
        &self.inner.dreams
    }

    fn extractions(&self) -> &extract::ExtractionDesk {
        &self.inner.extractions
    }

    fn hook_desk(&self) -> &hooks::HookDesk {
        &self.inner.hooks
    }

    fn gateway(&self) -> &gateway::GatewayDesk {
        &self.inner.gateway
    }

    fn forks(&self) -> &tokio::sync::RwLock<()> {
        &self.inner.forks
    }

    fn stopping(&self) -> CancellationToken {
        self.inner.stop.clone()
    }

    fn wake_worker(&self) {
        self.inner.wake.notify_one();
    }

    fn note_damage(&self, reason: String) {
        *self.inner.damage.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }

    /// Runs beside the requests; waited for at shutdown.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.inner.tracker.spawn(work);
    }
}
