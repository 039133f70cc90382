//! Files that a person allowed a project to load, by their real paths.
//!
//! They are kept in the daemon's own store: nothing that lies in a project can approve anything.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bethink_api as api;
use bethink_instructions::{Disk, Node, absolute};
use bethink_store::Kept;

use super::disk::RealDisk;
use crate::{Daemon, Kind, Refusal, Result};

/// The space that approvals are kept in: owner is the project, key the real path.
const SPACE: &str = "import_approval";
/// Approvals of one project; each is a person's own doing.
const MOST_APPROVED: usize = 1_000;

/// Approvals of the projects in use, as the store holds them.
#[derive(Debug, Default)]
pub(crate) struct Approvals(Mutex<HashMap<String, Arc<BTreeSet<PathBuf>>>>);

impl Approvals {
    fn known(&self, project: &str) -> Option<Arc<BTreeSet<PathBuf>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(project).cloned()
    }

    fn set(&self, project: &str, approved: &Arc<BTreeSet<PathBuf>>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(project.to_owned(), Arc::clone(approved));
    }

    fn forget(&self, project: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(project);
    }
}

impl Daemon {
    /// What a project may load beside its own files.
    pub(super) async fn approved(&self, project: &str) -> Result<Arc<BTreeSet<PathBuf>>> {
        if let Some(known) = self.approvals().known(project) {
            return Ok(known);
        }
        let kept = self.store().kept(SPACE.to_owned(), project.to_owned()).await?;
        let paths = Arc::new(kept.into_iter().map(|kept| PathBuf::from(kept.key)).collect());
        self.approvals().set(project, &paths);
        Ok(paths)
    }

    /// Lets a project load a file that lies outside of it or looks like a secret.
    pub async fn approve_import(&self, asked: api::ApproveImport) -> Result<api::ImportApproval> {
        let project = self.project(&asked.project_dir).await?;
        let path = absolute(Path::new(&asked.project_dir), Path::new(&asked.path));
        let now = self.now();
        let look = tokio::task::spawn_blocking(move || RealDisk::new(now).look(&path)).await;
        let look = look.map_err(Refusal::internal)?.map_err(|error| {
            Refusal::invalid("path", format!("{}: {error}", asked.path))
                .hint("name a file that is there; bethink instructions lists those that wait")
        })?;
        if look.node != Node::File {
            let detail = format!("{} is no regular file; only those are loaded", asked.path);
            return Err(Refusal::invalid("path", detail));
        }
        let real = utf8(&look.real)?;
        let approved = self.approved(&project.key).await?;
        if approved.len() >= MOST_APPROVED && !approved.contains(&look.real) {
            let detail = format!("the project has {MOST_APPROVED} approved files");
            return Err(Refusal::new(Kind::Conflict, detail).hint("revoke some first"));
        }
        let kept = Kept {
            space: SPACE.to_owned(),
            owner: project.key.clone(),
            key: real.clone(),
            value: "true".to_owned(),
            at: now,
        };
        self.store().keep(kept).await?;
        self.approvals().forget(&project.key);
        Ok(api::ImportApproval { path: real, approved: true })
    }

    /// Takes an approval back; the file may be gone by now.
    pub async fn revoke_import(&self, asked: api::ApproveImport) -> Result<api::ImportApproval> {
        let project = self.project(&asked.project_dir).await?;
        let path = absolute(Path::new(&asked.project_dir), Path::new(&asked.path));
        let now = self.now();
        let named = path.clone();
        let look = tokio::task::spawn_blocking(move || RealDisk::new(now).look(&named)).await;
        let real = look.map_err(Refusal::internal)?.map(|look| look.real);
        let mut gone = None;
        for path in [Some(path), real.ok()].into_iter().flatten() {
            let key = utf8(&path)?;
            let owner = project.key.clone();
            if self.store().forget_kept(SPACE.to_owned(), owner, key.clone()).await? {
                gone = Some(key);
            }
        }
        self.approvals().forget(&project.key);
        match gone {
            Some(path) => Ok(api::ImportApproval { path, approved: false }),
            None => {
                let detail = format!("{} was not approved for this project", asked.path);
                Err(Refusal::new(Kind::NotFound, detail)
                    .hint("bethink instructions lists what is approved"))
            }
        }
    }
}

fn utf8(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Refusal::invalid("path", "the file's real path is not UTF-8 and cannot be kept")
    })
}
