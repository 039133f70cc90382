//! The projects of sessions. A session belongs to the project of the directory in which it began.

use std::path::{Path, PathBuf};

use bethink_api as api;
use bethink_project::{key_of, own_dirs, real, root_of};
use bethink_service::{Result, ServiceError, blocking_on_disk};
use bethink_store::SessionPlace;

use crate::service::SessionService;

/// A directory's project, as found on this machine.
struct FoundProject {
    key: String,
    /// The key that the directory has as a project of its own, as which sessions may have begun before it belonged to a repository.
    own: String,
    /// Whether the directory exists.
    is_here: bool,
    is_repository: bool,
}

impl SessionService {
    /// Returns where the sessions of a directory's project began: in its worktrees, in the directories in them, and, if several machines
    /// use one database, in the clones of its repository.
    ///
    /// # Errors
    /// `Invalid` if `dir` is not an absolute path.
    pub async fn place_of(&self, dir: String) -> Result<SessionPlace> {
        if !Path::new(&dir).is_absolute() {
            let detail = format!("{dir:?} is not an absolute path");
            return Err(ServiceError::invalid("project_dir", detail)
                .hint("use the full path of the project"));
        }
        let found = find(&dir).await;
        // What another machine has at the same path may be something else.
        let is_other = found.as_ref().is_some_and(|found| found.is_here && !found.is_repository);
        let own = found.as_ref().map(|found| found.own.clone());
        let Some(key) = self.known_project(&dir, found).await? else {
            return Ok(SessionPlace::directory(dir));
        };
        let mut keys = match is_other {
            true => Vec::new(),
            false => self.cx.store().clones_of(key.clone()).await?,
        };
        keys.extend([key].into_iter().chain(own));
        Ok(SessionPlace { dir, keys: Some(keys), exact: false })
    }

    /// Returns exactly this directory. What began there when it belonged to another project is left out.
    pub(crate) async fn directory(&self, dir: String) -> SessionPlace {
        let found = find(&dir).await.filter(|found| found.is_here);
        let keys = found.map(|found| vec![found.key, found.own]);
        SessionPlace { keys, ..SessionPlace::directory(dir) }
    }

    /// Returns the newest sessions of the nearest directory with sessions, up to the top of the working tree: in another worktree, another
    /// agent may be working.
    pub async fn nearest_sessions(&self, dir: &str, most: usize) -> Result<Vec<api::Session>> {
        let path = PathBuf::from(dir);
        let near = move || {
            let real = real(&path);
            let dirs = own_dirs(&real).map(|dir| dir.display().to_string());
            dirs.collect::<Vec<String>>()
        };
        let mut dirs = blocking_on_disk(near).await.unwrap_or_default();
        // Agents may name it by a link.
        if dirs.first().is_none_or(|first| first != dir) {
            dirs.insert(0, dir.to_owned());
        }
        for dir in dirs {
            let (project_dir, limit) = (Some(dir), Some(most));
            let query = api::SessionQuery { project_dir, exact: true, limit, ..Default::default() };
            let sessions = self.sessions(query).await?.sessions;
            if !sessions.is_empty() {
                return Ok(sessions);
            }
        }
        Ok(Vec::new())
    }

    /// Finds the projects of sessions that an earlier version stored. A directory that is not here may be on another machine. On a
    /// database of several machines, a directory that is here is taken to be the same on all of them.
    pub async fn find_projects(&self) -> Result<()> {
        for dir in self.cx.store().directories_without_project().await? {
            if self.cx.stopping().is_cancelled() {
                break;
            }
            let Some(found) = find(&dir).await.filter(|found| found.is_here) else { continue };
            let set = self.cx.store().set_project_of_directory(dir.clone(), found.key).await;
            if let Err(error) = set {
                tracing::warn!(%error, dir, "could not store to which project the sessions of a directory belong");
            }
        }
        Ok(())
    }

    /// Returns the key of the project of a directory in which a session begins.
    pub(crate) async fn project_of_new(&self, dir: &str) -> Option<String> {
        let found = find(dir).await;
        self.known_project(dir, found).await.ok().flatten()
    }

    /// Returns the key of a directory's project. A directory that is not here may be a worktree that was removed, or be on another
    /// machine: then a session that began there tells.
    async fn known_project(
        &self,
        dir: &str,
        found: Option<FoundProject>,
    ) -> Result<Option<String>> {
        match found {
            Some(found) if found.is_here => Ok(Some(found.key)),
            found => {
                let stored = self.cx.store().project_of_directory(dir.to_owned()).await?;
                let in_repository = found.filter(|found| found.is_repository);
                Ok(stored.or_else(|| in_repository.map(|found| found.key)))
            }
        }
    }
}

/// Returns `None` if the path is relative, or its disk does not answer.
async fn find(dir: &str) -> Option<FoundProject> {
    let dir = Path::new(dir).is_absolute().then(|| PathBuf::from(dir))?;
    let find = move || {
        let (real, root) = (real(&dir), root_of(&dir));
        let is_repository = root.join(".git").is_dir();
        FoundProject {
            key: key_of(&root),
            own: key_of(&real),
            is_here: dir.is_dir(),
            is_repository,
        }
    };
    blocking_on_disk(find).await
}
