//! The directories of projects that have memories. A project's key does not contain its directory, so the directory is
//! written next to the project's memory.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bethink_config::Home;
use bethink_memdir::Scope;
use bethink_project::project_key;
use bethink_service::{Result, ServiceError, blocking, private_file};

use crate::project::MemoryProject;
use crate::service::MemoryService;
use crate::sync::base_path;

/// Name of the file with a project's directory.
const FILE: &str = "project";

/// Maximum number of projects that are opened when the daemon starts: fewer than are kept open, so that none of them is closed at once.
const RECENT: usize = 16;

impl MemoryService {
    /// Lists the directories of projects that have memories, except those that contain a directory in `known`. Looks only
    /// at paths: a known directory may be on a disk that does not answer.
    pub async fn projects_except(&self, known: Vec<String>) -> Result<Vec<String>> {
        let memory = Home::new(&self.cx.settings().home).memory();
        blocking(move || {
            let is_known = |root: &String| known.iter().any(|dir| Path::new(dir).starts_with(root));
            let roots = noted(&memory).unwrap_or_default().into_iter();
            Ok(roots.filter(|root| !is_known(root)).collect())
        })
        .await
    }

    /// Opens the projects whose memory was synced most recently, so that it is synced with other machines although no agent has used it
    /// since the daemon started.
    pub async fn open_recent_projects(&self) {
        let home = Home::new(&self.cx.settings().home);
        let found = blocking(move || {
            let synced = |root: &String| {
                let key = format!("{}/{}", project_key(Path::new(root)), Scope::Private);
                let base = base_path(&home, &key).metadata();
                base.and_then(|base| base.modified()).unwrap_or(UNIX_EPOCH)
            };
            let roots = noted(&home.memory()).unwrap_or_default().into_iter();
            Ok(roots.map(|root| (synced(&root), root)).collect())
        });
        let mut recent: Vec<(SystemTime, String)> = found.await.unwrap_or_default();
        recent.sort_unstable_by(|one, other| other.cmp(one));
        for (_, root) in recent.into_iter().take(RECENT) {
            if self.cx.stopping().is_cancelled() {
                return;
            }
            if let Err(error) = self.project(&root).await {
                tracing::debug!(error = %error, root, "could not open a project");
            }
        }
    }

    /// Returns the root of the project with this key, if it is open or has memories.
    pub(crate) async fn root_of_project(&self, key: &str) -> Option<String> {
        let open = self.inner.projects.in_use().into_iter().find(|project| project.key == key);
        if let Some(project) = open {
            return Some(project.root.display().to_string());
        }
        let file = Home::new(&self.cx.settings().home).memory().join(key).join(FILE);
        let root = blocking(move || Ok(fs::read_to_string(file).ok())).await.ok()??;
        (project_key(Path::new(&root)) == key).then_some(root)
    }

    /// Notes the directory of a project that gets a memory. The file is used to list projects and to sync those that nobody uses, so a
    /// write succeeds even if this fails.
    pub(crate) async fn note_root(&self, project: &MemoryProject) {
        let dir = Home::new(&self.cx.settings().home).memory().join(&project.key);
        let root = project.root.clone();
        let noting = blocking(move || note(&dir, &root).map_err(ServiceError::internal)).await;
        if let Err(error) = noting {
            tracing::debug!(error = %error, project = project.key, "could not note the project's directory");
        }
    }
}

fn note(dir: &Path, root: &Path) -> io::Result<()> {
    let file = dir.join(FILE);
    if file.exists() {
        return Ok(());
    }
    fs::create_dir_all(dir)?;
    private_file::replace(&file, root.as_os_str().as_encoded_bytes())
}

/// Reads the directories of all projects. A file whose content does not belong to its key is skipped.
fn noted(memory: &Path) -> io::Result<Vec<String>> {
    let mut roots = Vec::new();
    for entry in fs::read_dir(memory)?.flatten() {
        let Ok(root) = fs::read_to_string(entry.path().join(FILE)) else { continue };
        if project_key(Path::new(&root)).as_str() == entry.file_name() {
            roots.push(root);
        }
    }
    roots.sort();
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_listed_by_the_directory_that_its_key_belongs_to() {
        let memory = tempfile::tempdir().unwrap();
        let root = Path::new("/git/mill");
        let dir = memory.path().join(project_key(root));
        note(&dir, root).unwrap();
        fs::create_dir(memory.path().join("person")).unwrap();
        assert_eq!(noted(memory.path()).unwrap(), ["/git/mill"]);
        // The first note stays, and a file that was changed by something else is not believed.
        note(&dir, Path::new("/git/other")).unwrap();
        assert_eq!(noted(memory.path()).unwrap(), ["/git/mill"]);
        fs::write(dir.join(FILE), "/etc").unwrap();
        assert_eq!(noted(memory.path()).unwrap(), [""; 0]);
    }
}
