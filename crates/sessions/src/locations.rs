//! The projects of sessions. A session belongs to the project of the directory in which it began.

use std::path::{Path, PathBuf};

use bethink_api as api;
use bethink_project::{dirs_of_working_tree, project_key, repository_root, resolve_links};
use bethink_service::{Result, ServiceError, blocking_on_disk};
use bethink_store::SessionLocation;

use crate::service::SessionService;

/// Maximum number of directories whose disk does not respond before the rest is left to the next start: each keeps a thread.
const MAX_UNRESPONSIVE: usize = 8;

/// A directory's project, as found on this machine.
struct FoundProject {
    key: String,
    /// The key of the directory itself. Sessions have it if they began before the directory was in a repository.
    dir_key: String,
    exists: bool,
    is_repository: bool,
}

impl SessionService {
    /// Returns where the sessions of a directory's project began: in its worktrees, in the directories in them, and, if several machines
    /// use one database, in the clones of its repository.
    ///
    /// # Errors
    /// `Invalid` if `dir` is not an absolute path.
    pub async fn location_of(&self, dir: String) -> Result<SessionLocation> {
        ServiceError::check_project_dir(&dir)?;
        let found = find(&dir).await;
        // Another machine may have a different project at this path.
        let may_have_clones =
            found.as_ref().is_none_or(|found| !found.exists || found.is_repository);
        let dir_key = found.as_ref().map(|found| found.dir_key.clone());
        let Some(key) = self.known_project(&dir, found).await? else {
            return Ok(SessionLocation::directory(dir));
        };
        let mut keys = match may_have_clones {
            true => self.cx.store().clones_of(key.clone()).await?,
            false => Vec::new(),
        };
        keys.extend([key].into_iter().chain(dir_key));
        Ok(SessionLocation { dir, project_keys: Some(keys), exact_dir: false })
    }

    /// Returns exactly this directory. What began there when it belonged to another project is left out.
    pub(crate) async fn directory(&self, dir: String) -> SessionLocation {
        let found = find(&dir).await.filter(|found| found.exists);
        let project_keys = found.map(|found| vec![found.key, found.dir_key]);
        SessionLocation { project_keys, ..SessionLocation::directory(dir) }
    }

    /// Returns the newest sessions of the nearest directory with sessions, up to the top of the working tree: in another worktree, another
    /// agent may be working.
    pub async fn nearest_sessions(&self, dir: &str, most: usize) -> Result<Vec<api::Session>> {
        let path = PathBuf::from(dir);
        let near = move || {
            let real = resolve_links(&path);
            let dirs = dirs_of_working_tree(&real).map(|dir| dir.display().to_string());
            dirs.collect::<Vec<String>>()
        };
        let mut dirs = blocking_on_disk(Path::new(dir), near).await.unwrap_or_default();
        // Agents may name it by a link.
        if dirs.first().is_none_or(|first| first != dir) {
            dirs.insert(0, dir.to_owned());
        }
        for dir in dirs {
            let (project_dir, limit) = (Some(dir), Some(most));
            let query =
                api::SessionQuery { project_dir, exact_dir: true, limit, ..Default::default() };
            let sessions = self.sessions(query).await?.sessions;
            if !sessions.is_empty() {
                return Ok(sessions);
            }
        }
        Ok(Vec::new())
    }

    /// Sets the projects of sessions that an earlier version stored. A directory that does not exist may be on another machine. On
    /// a database of several machines, a directory that exists is taken to be the same on all of them.
    pub async fn backfill_projects(&self) -> Result<()> {
        let mut unresponsive = 0;
        for dir in self.cx.store().directories_without_project().await? {
            if self.cx.stopping().is_cancelled() {
                break;
            }
            let Some(found) = find(&dir).await else {
                unresponsive += usize::from(Path::new(&dir).is_absolute());
                if unresponsive == MAX_UNRESPONSIVE {
                    break;
                }
                continue;
            };
            if !found.exists {
                continue;
            }
            let set = self.cx.store().set_project_of_directory(dir.clone(), found.key).await;
            if let Err(error) = set {
                tracing::warn!(%error, dir, "could not set the project of a directory's sessions");
            }
        }
        Ok(())
    }

    /// Returns the key of the project of a directory in which a session begins.
    pub(crate) async fn project_of_new(&self, dir: &str) -> Option<String> {
        let found = find(dir).await;
        self.known_project(dir, found).await.ok().flatten()
    }

    /// Returns the key of a directory's project. A directory that does not exist may be a removed worktree, or be on another machine:
    /// then the newest session that began there decides.
    async fn known_project(
        &self,
        dir: &str,
        found: Option<FoundProject>,
    ) -> Result<Option<String>> {
        match found {
            Some(found) if found.exists => Ok(Some(found.key)),
            found => {
                let stored = self.cx.store().project_of_directory(dir.to_owned()).await?;
                let in_repository = found.filter(|found| found.is_repository);
                Ok(stored.or_else(|| in_repository.map(|found| found.key)))
            }
        }
    }
}

/// Returns `None` if the path is relative, or its disk does not respond.
async fn find(dir: &str) -> Option<FoundProject> {
    let dir = Path::new(dir).is_absolute().then(|| PathBuf::from(dir))?;
    let path = dir.clone();
    let find = move || {
        let dir = resolve_links(&path);
        let repository = repository_root(&dir);
        FoundProject {
            key: project_key(repository.as_ref().unwrap_or(&dir)),
            dir_key: project_key(&dir),
            exists: dir.is_dir(),
            is_repository: repository.is_some(),
        }
    };
    blocking_on_disk(&dir, find).await
}
