//! Keeps the person's memory and the private memory of each project the same on all machines whose daemons use one database.
//!
//! Each home has its own files. The database has the common state of each directory, and each home knows which content it last had
//! in common with the database (see [`base`]), so it can tell who changed a file. If both did, both versions are kept. A sync
//! runs at the first use of a directory, after each change here, and when another daemon tells of a change there.
//!
//! A file that seems to contain a secret stays on its machine, even if a person allowed it there.

mod base;
mod incoming;
mod name;
mod round;
pub(crate) mod state;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bethink_git::{Git, GitLimits};
use bethink_memdir::Scope;
use bethink_memdir_fs::Dirty;
use bethink_service::{Result, ServiceError, blocking, locked};
use tokio::time::timeout;

use crate::directory::MemoryDirectory;
use crate::project::MemoryProject;
use crate::service::MemoryService;
use crate::sync::base::SyncBase;
use crate::sync::name::repository_name;
use crate::sync::round::Synced;

pub use incoming::{IncomingFile, SyncObstacle};

/// How long the first use of a directory waits for its first sync: enough for thousands of topics.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of rounds if files change during a sync. The change that interrupted the last round starts the next sync.
const MOST_ROUNDS: usize = 8;

impl MemoryService {
    /// Starts syncs of the directories in use that have this name on all machines, or of all directories in use.
    pub fn start_syncs(&self, name: Option<&str>) {
        self.wake_directories(|directory| name.is_none_or(|name| directory.sync.has_name(name)));
    }

    /// Starts syncs of some of the directories in use.
    fn wake_directories(&self, is_meant: impl Fn(&Arc<MemoryDirectory>) -> bool) {
        for project in self.inner.projects.in_use() {
            let own = [Scope::Private, Scope::Person].map(|scope| project.directory(scope));
            for directory in own.into_iter().filter(|directory| is_meant(directory)) {
                directory.woken().ring(Dirty::Files(BTreeSet::new()));
            }
        }
    }

    /// Syncs a project's directories before their first use. If that takes long, the first use does not wait.
    pub(crate) async fn sync_once(&self, project: &MemoryProject) {
        for scope in [Scope::Person, Scope::Private] {
            let directory = project.directory(scope);
            if !directory.sync.first.initialized() {
                let syncing = directory.sync.first.get_or_init(|| self.sync(directory));
                if timeout(PATIENCE, syncing).await.is_err() {
                    // It fails only if another task was faster.
                    drop(directory.sync.first.set(()));
                }
            }
        }
    }

    /// Syncs a directory, if several daemons may use the database. `memory lint` reports a failure.
    pub(crate) async fn sync(&self, directory: &Arc<MemoryDirectory>) {
        if directory.scope == Scope::Team || !self.cx.store().is_shared() {
            return;
        }
        let Some(project) = self.inner.projects.with(directory) else { return };
        let mut base = directory.sync.base.lock().await;
        let synced = self.sync_rounds(&project, directory, &mut base).await;
        if let Err(error) = &synced {
            tracing::warn!(dir = %directory.dir.display(), reason = %error.detail, "could not sync memory with other machines");
        }
        *locked(&directory.sync.fault) = synced.err().map(|error| error.detail);
    }

    async fn sync_rounds(
        &self,
        project: &MemoryProject,
        directory: &Arc<MemoryDirectory>,
        base: &mut Option<SyncBase>,
    ) -> Result<()> {
        let naming = || self.name_of_synced(project, directory.scope);
        let name = directory.sync.name.get_or_try_init(naming).await?;
        let synced = Synced { project, directory, name };
        for _ in 0..MOST_ROUNDS {
            if self.sync_round(synced, base).await? {
                return Ok(());
            }
        }
        Err(ServiceError::conflict("the files kept changing during the sync"))
    }

    /// Returns the name of a directory on all machines: clones of one repository have the same private memory, wherever they are.
    async fn name_of_synced(&self, project: &MemoryProject, scope: Scope) -> Result<String> {
        if scope == Scope::Person {
            return Ok(scope.to_string());
        }
        let root = project.root.clone();
        let is_repository = blocking(move || Ok(root.join(".git").is_dir())).await?;
        let mut repository = None;
        if is_repository {
            let git = Git::new(std::env::vars_os(), GitLimits::default());
            match git.origin(&project.root).await {
                Ok(url) => repository = url.as_deref().and_then(repository_name),
                Err(error) => {
                    tracing::debug!(%error, "could not find out from where a repository was cloned");
                }
            }
        }
        let known = self.cx.store().synced_name(project.key.clone(), repository).await?;
        Ok(format!("{}/{scope}", known.as_ref().unwrap_or(&project.key)))
    }
}
