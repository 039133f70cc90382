//! The daemon starts the services, connects them with each other, runs their jobs and shuts them down.
//!
//! Requests do not pass through it: the server calls the services through their handles. Nothing here deals with routes,
//! headers or status codes.
//!
//! Reading order: [`boot_error`] → [`boot`] → [`open`] → [`connect`] → [`storage`] → [`peers`].

mod boot;
mod boot_error;
mod check;
mod connect;
mod home;
mod open;
mod peers;
mod storage;

use std::fs::File;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use bethink_api as api;
use bethink_hooks::HookService;
use bethink_memories::MemoryService;
use bethink_models::ModelService;
use bethink_notes::NotesService;
use bethink_search::SearchService;
use bethink_service::{JobRunner, ServiceContext, rfc3339};
use bethink_sessions::SessionService;
use bethink_store::StoreError;
use bethink_team::TeamService;
use bethink_team_history::TeamHistoryService;
use bethink_transcript::UnixMicros;
use bethink_transfer::TransferService;
use tokio::sync::OnceCell;

pub use boot_error::{BootError, PasswordError};
pub use open::with_password;

use crate::check::DailyCheck;

/// Value of `faulty_since` while the store has no fault.
const NO_FAULT: i64 = 0;

/// The running daemon; clones share it.
#[derive(Clone, Debug)]
pub struct Daemon(Arc<Services>);

/// The services of the daemon. Each request clones the daemon, and a clone of each service would be a dozen references.
#[derive(Debug)]
pub struct Services {
    pub cx: ServiceContext,
    pub models: ModelService,
    pub search: SearchService,
    pub sessions: SessionService,
    pub memories: MemoryService,
    pub notes: NotesService,
    pub team: TeamService,
    pub team_history: TeamHistoryService,
    pub hooks: HookService,
    pub transfer: TransferService,
    runner: JobRunner,
    inner: Inner,
}

impl Deref for Daemon {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.0
    }
}

struct Inner {
    metrics: bethink_metrics::MetricsRegistry,
    /// The damage from which the database was recovered at startup.
    recovered: OnceLock<String>,
    /// The database, if history is not in the home.
    database: Option<String>,
    /// Set when the pauses and the ledger have been read.
    loaded: OnceCell<()>,
    check: DailyCheck,
    /// Since when the store has had a fault, in microseconds since 1970, or [`NO_FAULT`].
    faulty_since: AtomicI64,
    /// Whether the last test could not write to the home.
    home_fails: AtomicBool,
    _lock: File,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("recovered", &self.recovered).finish_non_exhaustive()
    }
}

impl Daemon {
    pub fn health(&self) -> api::Health {
        let recovered = self.inner.recovered.get().map(String::as_str);
        let damage = self.cx.store().damage().or(recovered).map(str::to_owned);
        let fault = self.cx.store().fault().map(|fault| {
            let (storage, since) = (self.storage_of(&fault), self.faulty_since());
            match fault {
                StoreError::InUse(_) => format!("could not write to {storage}: {fault}{since}"),
                StoreError::Server(_) | StoreError::Contended(_) => format!(
                    "could not use {storage}: {fault}{since}; its history can be read and written again when this is fixed"
                ),
                _ => format!(
                    "could not write to {storage}: {fault}{since}; reads still work, and writes will work again when this is \
                     fixed"
                ),
            }
        });
        let memories = self.memories.damage();
        let problems: Vec<String> = fault.into_iter().chain(damage).chain(memories).collect();
        api::Health {
            status: match problems[..] {
                [] => api::HealthStatus::Ok,
                _ => api::HealthStatus::Degraded,
            },
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pause: self.cx.recording_pause(),
            detail: (!problems.is_empty()).then(|| problems.join("; ")),
            notices: self.models.notice().into_iter().chain(self.notes.faults()).collect(),
        }
    }

    /// Returns since when the store has had its fault, in words.
    fn faulty_since(&self) -> String {
        match self.inner.faulty_since.load(Ordering::Relaxed) {
            NO_FAULT => String::new(),
            since => {
                let seconds = since / 1_000_000;
                format!(" (since {})", rfc3339(UnixMicros(seconds * 1_000_000)))
            }
        }
    }

    /// Returns the database in which history is stored; `None` if it is a file in the home.
    pub fn database(&self) -> Option<&str> {
        self.inner.database.as_deref()
    }

    /// Returns what could not be written to.
    pub(crate) fn storage_of(&self, fault: &StoreError) -> String {
        let is_of_the_home =
            self.inner.home_fails.load(Ordering::Relaxed) || matches!(fault, StoreError::Disk(_));
        match &self.inner.database {
            Some(database) if !is_of_the_home => format!("the {database}"),
            _ => "bethink's home directory".to_owned(),
        }
    }

    /// Returns all metrics as Prometheus text.
    pub fn metrics(&self) -> String {
        self.inner.metrics.render()
    }

    /// Cancels all model calls, so that no open request waits for one. The callers continue without the model, and jobs are
    /// left to the next daemon.
    pub fn close_models(&self) {
        self.cx.closing().cancel();
    }

    /// Stops all background work, releases the jobs and closes the store. Ends all event streams.
    pub async fn shutdown(&self) {
        self.cx.stop().await;
        for result in [self.runner.release().await, self.cx.store().close().await] {
            if let Err(error) = result {
                tracing::error!(%error, "could not shut down cleanly; the next start will check the database");
            }
        }
    }
}
