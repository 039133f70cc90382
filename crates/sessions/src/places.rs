//! The projects of sessions. A session belongs to the project of the directory in which it began.

use std::path::Path;
use std::time::Duration;

use bethink_project::{is_repository, key_of, root_of};
use bethink_service::{Result, ServiceError, blocking};
use bethink_store::SessionPlace;
use tokio::time::timeout;

use crate::service::SessionService;

/// How long to wait for a directory that may be on a disk that does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A directory's project, as found on this machine.
struct FoundProject {
    key: String,
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
        let store = self.cx.store();
        let found = find(&dir).await;
        let mut key = None;
        // It may be a worktree that was removed, or be on another machine.
        if found.as_ref().is_none_or(|found| !found.is_here) {
            key = store.project_of_directory(dir.clone()).await?;
        }
        // What another machine has at the same path may be something else.
        let is_named = found.as_ref().is_none_or(|found| found.is_repository || !found.is_here);
        let Some(key) = key.or_else(|| found.map(|found| found.key)) else {
            return Ok(SessionPlace::Directory(dir));
        };
        let mut keys = Vec::new();
        if is_named && let Some(name) = store.record_project_name(key.clone(), None).await? {
            keys = store.projects_of_name(name).await?;
        }
        keys.push(key);
        Ok(SessionPlace::Projects { dir, keys })
    }

    /// Finds the projects of sessions that an earlier version stored. Directories that are not here may be on other machines.
    pub async fn find_projects(&self) -> Result<()> {
        for dir in self.cx.store().directories_without_project().await? {
            if self.cx.stopping().is_cancelled() {
                break;
            }
            if let Some(found) = find(&dir).await.filter(|found| found.is_here) {
                self.cx.store().set_project_of_directory(dir, found.key).await?;
            }
        }
        Ok(())
    }
}

/// Returns the key of a directory's project.
pub(crate) async fn project_of(dir: &str) -> Option<String> {
    Some(find(dir).await?.key)
}

/// Returns `None` if the path is relative, or its disk does not answer.
async fn find(dir: &str) -> Option<FoundProject> {
    let dir = Path::new(dir).is_absolute().then(|| dir.to_owned())?;
    let found = blocking(move || {
        let dir = Path::new(&dir);
        let root = root_of(dir);
        let is_repository = is_repository(&root);
        Ok(FoundProject { key: key_of(&root), is_here: dir.is_dir(), is_repository })
    });
    timeout(PATIENCE, found).await.ok()?.ok()
}
