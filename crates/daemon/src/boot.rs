//! The daemon comes up, and goes down.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bethink_config::{Home, Settings};
use bethink_store::StoreError;
use bethink_store_sqlite::{OpenError, OpenReport, Options, SqliteStore};
use bethink_transcript::UnixMicros;
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::{Clock, SystemClock};
use crate::events::Hub;
use crate::hot::Registry;
use crate::models::ModelDesk;
use crate::{Daemon, Inner};

/// Work of a daemon that holds the home's lock; whoever holds the lock next takes it over.
const OWNER: &str = "home";

/// Why the daemon could not come up.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error("we could not use {home} as bethink's home")]
    Home { home: PathBuf, source: std::io::Error },
    #[error(
        "another daemon owns {home} ({holder}); stop it, or choose another home with BETHINK_HOME"
    )]
    Owned { home: PathBuf, holder: String },
    #[error("we could not open the database in {home}")]
    Store { home: PathBuf, source: OpenError },
    #[error("we could not read the work left by the last daemon")]
    Work(#[from] StoreError),
}

impl Daemon {
    /// Takes the home's lock, opens the store, starts the workers.
    pub async fn boot(settings: Settings) -> Result<Self, BootError> {
        let models = ModelDesk::open(&settings.model);
        Self::boot_with(settings, models).await
    }

    /// The same, with a desk that asks another model than the settings name.
    pub(crate) async fn boot_with(
        settings: Settings,
        models: ModelDesk,
    ) -> Result<Self, BootError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let lock = own_home(&settings.home)?;
        let (store, opened) = open_store(&settings.home, clock.now())
            .await
            .map_err(|source| BootError::Store { home: settings.home.clone(), source })?;
        tell(&opened);
        let stop = CancellationToken::new();
        let daemon = Daemon {
            inner: Arc::new(Inner {
                hub: Hub::new(clock.now().0, stop.clone()),
                metrics: metrics_recorder(),
                damage: opened.damage.as_ref().map(|d| d.reason.clone()).into(),
                tracker: TaskTracker::new(),
                wake: Arc::default(),
                to_index: crate::index::Queued::default(),
                notes: crate::notes::NotesDesk::default(),
                models,
                projects: crate::memory::Projects::default(),
                approvals: crate::instructions::Approvals::default(),
                dreams: crate::memory::DreamDesk::default(),
                extractions: crate::extract::ExtractionDesk::default(),
                hooks: crate::hooks::HookDesk::new(&Home::new(&settings.home)),
                gateway: crate::gateway::GatewayDesk::default(),
                forks: tokio::sync::RwLock::default(),
                registry: Registry::default(),
                ledger: crate::ledger::Ledger::default(),
                store: Arc::new(store.clone()),
                _lock: lock,
                settings,
                clock,
                stop,
            }),
        };
        daemon.store().release(OWNER.to_owned()).await?;
        daemon.open_ledger().await?;
        // What is broken in a person's configuration of notes is told at once.
        daemon.outline().await;
        daemon.index_what_lags().await?;
        daemon.spawn(daemon.clone().work(Arc::clone(&daemon.inner.wake)));
        daemon.deliver_what_waits();
        if opened.check_due {
            daemon.check_in_background(store);
        }
        Ok(daemon)
    }

    /// Ends the calls of models, so that no request under way waits for one: who waits goes on without, and
    /// leased work is left to the next start.
    pub fn ask_no_more(&self) {
        self.models().close();
    }

    /// Finishes or hands over what is under way; ends all event streams.
    pub async fn shutdown(&self) {
        self.ask_no_more();
        self.inner.stop.cancel();
        self.inner.tracker.close();
        self.inner.tracker.wait().await;
        for result in [self.store().release(OWNER.to_owned()).await, self.store().close().await] {
            if let Err(error) = result {
                tracing::error!(%error, "not everything was put away; the next start will look at it");
            }
        }
    }

    pub(crate) fn owner(&self) -> &'static str {
        OWNER
    }

    /// A large database that was not closed cleanly is looked through while it serves.
    fn check_in_background(&self, store: SqliteStore) {
        let (daemon, stop) = (self.clone(), self.inner.stop.clone());
        self.spawn(async move {
            let checked = tokio::select! {
                checked = store.check() => checked,
                () = stop.cancelled() => return,
            };
            match checked {
                Ok(None) => {}
                Ok(Some(fault)) => {
                    tracing::error!(%fault, "the database is damaged; restart the daemon to recover what is whole");
                    daemon.note_damage(fault);
                }
                Err(error) => tracing::warn!(%error, "the database could not be checked"),
            }
        });
    }
}

/// The home with its lock, held as long as the file is open.
fn own_home(home: &Path) -> Result<File, BootError> {
    let cannot = |source| BootError::Home { home: home.to_owned(), source };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home).map_err(cannot)?;
    let path = home.join("lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(cannot)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = std::fs::read_to_string(&path).unwrap_or_default();
            let holder = if holder.trim().is_empty() {
                "just starting".to_owned()
            } else {
                holder.trim().to_owned()
            };
            return Err(BootError::Owned { home: home.to_owned(), holder });
        }
        Err(TryLockError::Error(cause)) => return Err(cannot(cause)),
    }
    // For the error message of the next one; the lock itself is the kernel's.
    let holder = format!("pid {}\n", std::process::id());
    file.set_len(0).and_then(|()| file.write_all(holder.as_bytes())).map_err(cannot)?;
    Ok(file)
}

async fn open_store(home: &Path, now: UnixMicros) -> Result<(SqliteStore, OpenReport), OpenError> {
    SqliteStore::open(&home.join("bethink.db"), Options::new(now)).await
}

fn tell(opened: &OpenReport) {
    let Some(damage) = &opened.damage else { return };
    tracing::error!(
        reason = %damage.reason, copy = %damage.copy.display(),
        "the database was damaged; it was copied aside and what is whole was recovered"
    );
    for table in &damage.recovered {
        tracing::warn!(
            table = table.table,
            rows = table.rows,
            spoiled = table.spoiled,
            "recovered"
        );
    }
}

/// One recorder for the process; a second boot in it (tests) shares the first one's.
fn metrics_recorder() -> metrics_exporter_prometheus::PrometheusHandle {
    static HANDLE: std::sync::OnceLock<metrics_exporter_prometheus::PrometheusHandle> =
        std::sync::OnceLock::new();
    HANDLE
        .get_or_init(|| {
            let recorder = PrometheusBuilder::new().build_recorder();
            let handle = recorder.handle();
            // Another recorder is installed already: ours then stays empty, and nothing breaks.
            drop(metrics::set_global_recorder(recorder));
            handle
        })
        .clone()
}
