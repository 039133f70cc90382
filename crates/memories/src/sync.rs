//! Keeps the person's memory and the private memory of each project the same on all machines whose daemons use one database.
//!
//! Each home has its own files. The database has the common state of each directory, and each home knows which content it last had
//! in common with the database (see [`base`]), so it can tell who changed a file. If both did, both versions are kept. A sync
//! runs at the first use of a directory, after each change here, and when another daemon tells of a change there.
//!
//! A file that seems to contain a secret is not given to other machines, even if a person allowed it here.

mod base;
mod incoming;
mod round;
pub(crate) mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bethink_git::{Git, GitLimits, repository_name};
use bethink_memdir::Scope;
use bethink_memdir_fs::Dirty;
use bethink_service::{Result, ServiceError, blocking, locked};
use tokio::time::timeout;

use crate::directory::MemoryDirectory;
use crate::project::MemoryProject;
use crate::service::MemoryService;
use crate::sync::round::{RoundEnd, SyncTarget};
use crate::sync::state::SyncProgress;

pub(crate) use base::base_path;
pub use incoming::{IncomingChange, WriteRefusal};

/// How long the first use of a directory waits for its first sync: enough for thousands of topics.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of rounds that are repeated because files change during a sync.
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
                directory.sync.is_requested.store(true, Ordering::Relaxed);
                directory.woken().ring(Dirty::Files(BTreeSet::new()));
            }
        }
    }

    /// Syncs a project's directories before their first use. If that takes long, the first use does not wait.
    pub(crate) async fn sync_once(&self, project: &MemoryProject) {
        let of = |scope| self.sync_first(project.directory(scope));
        tokio::join!(of(Scope::Person), of(Scope::Private));
    }

    async fn sync_first(&self, directory: &Arc<MemoryDirectory>) {
        if directory.sync.first_sync.initialized() {
            return;
        }
        let sync = || async {
            let (memories, directory) = (self.clone(), Arc::clone(directory));
            // A task of its own, which goes on if the first use does not wait for it. It fails only if it panics.
            drop(self.cx.spawn(async move { memories.sync(&directory).await }).await);
        };
        if timeout(PATIENCE, directory.sync.first_sync.get_or_init(sync)).await.is_err() {
            // It fails only if another task was faster.
            drop(directory.sync.first_sync.set(()));
        }
    }

    /// Syncs a directory, if several daemons may use the database. Returns `false` if it failed, which `memory lint` reports.
    pub(crate) async fn sync(&self, directory: &Arc<MemoryDirectory>) -> bool {
        if directory.scope == Scope::Team || !self.cx.store().is_shared() {
            return true;
        }
        let Some(project) = self.inner.projects.project_of(directory) else { return true };
        let mut progress = directory.sync.progress.lock().await;
        let is_requested = directory.sync.is_requested.swap(false, Ordering::Relaxed);
        let revision = directory.shown().revision;
        if !is_requested && progress.revision == Some(revision) {
            return true;
        }
        let synced = tokio::select! {
            synced = self.sync_rounds(&project, directory, &mut progress) => synced,
            () = self.cx.stopping().cancelled() => return true,
        };
        if let Err(error) = &synced {
            tracing::warn!(dir = %directory.dir.display(), reason = %error.detail, "could not sync memory with other machines");
        }
        let is_synced = synced.is_ok();
        progress.revision = is_synced.then_some(revision);
        *locked(&directory.sync.fault) = synced.err().map(|error| error.detail);
        is_synced
    }

    async fn sync_rounds(
        &self,
        project: &MemoryProject,
        directory: &Arc<MemoryDirectory>,
        progress: &mut SyncProgress,
    ) -> Result<()> {
        let naming = || self.name_of_synced(project, directory.scope);
        let name = directory.sync.name.get_or_try_init(naming).await?;
        let target = SyncTarget { project, directory, name };
        let (mut skipped, mut repeated) = (BTreeMap::new(), 0);
        while repeated < MOST_ROUNDS {
            match self.sync_round(target, progress, &mut skipped).await? {
                RoundEnd::Done => {
                    *locked(&directory.sync.skipped) = skipped;
                    return Ok(());
                }
                RoundEnd::More => {}
                RoundEnd::Changed => {
                    directory.doubt();
                    repeated += 1;
                }
            }
        }
        Err(ServiceError::conflict(
            "could not finish the sync: files kept changing; it will be tried again",
        ))
    }

    /// Returns the name of a directory on all machines: clones of one repository have the same private memory, wherever they are.
    async fn name_of_synced(&self, project: &MemoryProject, scope: Scope) -> Result<String> {
        if scope == Scope::Person {
            return Ok(scope.to_string());
        }
        let root = project.root.clone();
        let is_here = blocking(move || Ok(root.is_dir())).await?;
        let repository = project.repository().await?;
        let name = match repository.is_some() || !is_here {
            true => self.cx.store().record_project_name(project.key.clone(), repository).await?,
            // What another machine has at the same path may be something else.
            false => None,
        };
        Ok(format!("{}/{scope}", name.as_ref().unwrap_or(&project.key)))
    }
}

impl MemoryProject {
    /// Returns the name of the repository from which the project was cloned, such as `github.com/ann/mill`.
    pub async fn repository(&self) -> Result<Option<String>> {
        let root = self.root.clone();
        if !blocking(move || Ok(root.join(".git").is_dir())).await? {
            return Ok(None);
        }
        let git = Git::new(std::env::vars_os(), GitLimits::default());
        let url = git.origin(&self.root).await.map_err(|error| {
            ServiceError::conflict(format!(
                "could not read the URL of the remote `origin`: {error}"
            ))
        })?;
        Ok(url.as_deref().and_then(repository_name))
    }
}
