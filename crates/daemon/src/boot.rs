//! Starts the daemon.

use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::{Arc, OnceLock};

use bethink_config::Settings;
use bethink_hooks::HookService;
use bethink_memories::MemoryService;
use bethink_model::Model;
use bethink_models::ModelService;
use bethink_notes::NotesService;
use bethink_search::SearchService;
use bethink_service::{Clock, ServiceContext, SystemClock};
use bethink_sessions::SessionService;
use bethink_store::{OpenReport, StoreError};
use bethink_team::TeamService;
use bethink_team_history::TeamHistoryService;
use bethink_transfer::TransferService;

use crate::boot_error::BootError;
use tokio::sync::OnceCell;

use crate::check::DailyCheck;
use crate::home::lock_home;
use crate::open::{OpenStore, open_store};
use crate::{Daemon, Inner, NO_FAULT, Services, connect};

impl Daemon {
    /// Locks the home, opens the store and starts the services.
    pub async fn boot(settings: Settings) -> Result<Self, BootError> {
        Self::boot_with(settings, None).await
    }

    /// Boots with this model instead of the one in the settings.
    pub async fn boot_with(
        settings: Settings,
        model: Option<Arc<dyn Model>>,
    ) -> Result<Self, BootError> {
        let lock = lock_home(&settings.home).await?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let OpenStore { store, report, database } = open_store(&settings, clock.now()).await?;
        let cx = ServiceContext::new(settings, clock, store);
        // Without a database server, nothing can be read now: see `catch_up`.
        let is_cut_off = matches!(cx.store().fault(), Some(StoreError::Server(_)));
        let models = ModelService::new(cx.clone(), model);
        let loaded = OnceCell::new();
        if !is_cut_off {
            loaded.get_or_try_init(|| load(&cx, &models)).await?;
        }
        let search = SearchService::new(cx.clone());
        let sessions = SessionService::new(cx.clone(), models.clone(), search.clone());
        let memories = MemoryService::new(cx.clone(), models.clone(), sessions.clone());
        let notes = NotesService::new(cx.clone(), models.clone(), sessions.clone());
        let team = TeamService::new(cx.clone(), memories.clone());
        let team_history = TeamHistoryService::new(cx.clone(), memories.clone());
        let transfer = TransferService::new(cx.clone(), search.clone(), sessions.clone());
        let hooks = HookService::new(
            cx.clone(),
            sessions.clone(),
            memories.clone(),
            notes.clone(),
            transfer.clone(),
        );
        let check = DailyCheck::new(cx.clone());
        let inner = Inner {
            metrics: bethink_metrics::MetricsRegistry::global(),
            recovered: OnceLock::new(),
            database,
            loaded,
            check: check.clone(),
            faulty_since: AtomicI64::new(NO_FAULT),
            home_fails: AtomicBool::new(false),
            _lock: lock,
        };
        let runner =
            connect::runner(&cx, &search, &sessions, &memories, &notes, &team_history, &transfer);
        connect::sessions(&sessions, &search, &memories, &notes, &team_history, check);
        let daemon = Self(Arc::new(Services {
            cx,
            models,
            search,
            sessions,
            memories,
            notes,
            team,
            team_history,
            hooks,
            transfer,
            runner,
            inner,
        }));
        daemon.start(report).await?;
        Ok(daemon)
    }

    /// Starts the background work. Work that writes to the home waits while the home cannot be written to.
    async fn start(&self, opened: OpenReport) -> Result<(), BootError> {
        self.note_opened(opened).await;
        // Reports errors in the user's notes template and prompt at startup.
        self.notes.read_outline().await;
        let behind = match self.resume().await {
            Ok(()) => false,
            Err(error) if error.is_of_the_disk() => true,
            Err(error) => return Err(error),
        };
        self.start_peer_exchange();
        self.cx.spawn(self.clone().watch_storage(behind));
        self.hooks.drain_spool();
        Ok(())
    }

    /// Does what the start could not do without the database.
    pub(crate) async fn catch_up(&self) -> Result<(), BootError> {
        self.inner.loaded.get_or_try_init(|| load(&self.cx, &self.models)).await?;
        self.resume().await
    }

    /// Resumes the work that the previous daemon did not finish, and starts running jobs.
    pub(crate) async fn resume(&self) -> Result<(), BootError> {
        match self.runner.release().await {
            // Damage of one job must not keep history from being served. Leases end by themselves.
            Err(StoreError::Damaged(why)) => {
                tracing::error!(
                    why,
                    "could not resume the unfinished jobs, because the database is damaged; restart the daemon to recover the intact rows"
                );
            }
            other => other?,
        }
        self.search.enqueue_stale_indexes().await.map_err(BootError::Index)?;
        self.transfer.follow_places().await.map_err(BootError::Transcripts)?;
        self.cx.spawn(self.runner.clone().work());
        self.team_history.resume_later();
        let sessions = self.sessions.clone();
        self.cx.spawn(async move {
            if let Err(error) = sessions.backfill_projects().await {
                tracing::debug!(error = %error, "could not find the projects of earlier sessions");
            }
        });
        Ok(())
    }
}

/// Reads what the services keep in memory from the start. Once only: later changes are in memory already.
async fn load(cx: &ServiceContext, models: &ModelService) -> Result<(), BootError> {
    cx.load_recording().await.map_err(BootError::Recording)?;
    Ok(models.load_ledger().await?)
}
