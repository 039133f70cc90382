//! Files that a person has allowed a project to load, by their real paths.
//!
//! Approvals are kept in the daemon's store, so that a project's files cannot approve anything.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bethink_api as api;
use bethink_instructions::{Disk, FileType, absolute};
use bethink_service::{Result, ServiceError, blocking};

use super::disk::RealDisk;
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// Maximum number of approvals per project; a person makes each of them.
const MOST_APPROVED: usize = 1_000;

impl MemoryService {
    /// Returns the files that a person has allowed the project to load.
    pub(super) async fn approved(&self, project: &MemoryProject) -> Result<Arc<BTreeSet<PathBuf>>> {
        let mut known = project.turns.approved.lock().await;
        if let Some(approved) = &*known {
            return Ok(Arc::clone(approved));
        }
        let approved = self.cx.store().import_approvals(project.key.clone()).await?;
        let approved = Arc::new(approved.into_iter().map(PathBuf::from).collect());
        Ok(Arc::clone(known.insert(approved)))
    }

    /// Lets a project load a file that needs approval, for example because it is outside the project or looks like a secret.
    pub async fn approve_import(&self, asked: api::ApproveImport) -> Result<api::ImportApproval> {
        let project = self.project(&asked.project_dir).await?;
        let path = absolute(Path::new(&asked.project_dir), Path::new(&asked.path));
        let now = self.cx.now();
        let look = blocking(move || Ok(RealDisk::new(now).look(&path))).await?;
        let look = look.map_err(|error| {
            ServiceError::invalid("path", format!("{}: {error}", asked.path)).hint(
                "name an existing file; `bethink instructions` lists the files that need approval",
            )
        })?;
        if look.node != FileType::File {
            let detail =
                format!("{} is not a regular file; only regular files are loaded", asked.path);
            return Err(ServiceError::invalid("path", detail));
        }
        let real = utf8(&look.real)?;
        let approved = self.approved(&project).await?;
        if approved.len() >= MOST_APPROVED && !approved.contains(&look.real) {
            let detail = format!(
                "the project already has {MOST_APPROVED} approved files, which is the maximum"
            );
            return Err(ServiceError::conflict(detail).hint("revoke an approval first"));
        }
        let mut known = project.turns.approved.lock().await;
        *known = None;
        self.cx.store().approve_import(project.key.clone(), real.clone(), now).await?;
        Ok(api::ImportApproval { path: real, approved: true })
    }

    /// Revokes an approval. The file need not exist.
    pub async fn revoke_import(&self, asked: api::ApproveImport) -> Result<api::ImportApproval> {
        let project = self.project(&asked.project_dir).await?;
        let path = absolute(Path::new(&asked.project_dir), Path::new(&asked.path));
        let now = self.cx.now();
        let named = path.clone();
        let look = blocking(move || Ok(RealDisk::new(now).look(&named))).await?;
        let mut known = project.turns.approved.lock().await;
        *known = None;
        let mut gone = None;
        for path in [Some(path), look.ok().map(|look| look.real)].into_iter().flatten() {
            let key = utf8(&path)?;
            if self.cx.store().revoke_import(project.key.clone(), key.clone()).await? {
                gone = Some(key);
            }
        }
        match gone {
            Some(path) => Ok(api::ImportApproval { path, approved: false }),
            None => {
                let detail = format!("{} is not approved for this project", asked.path);
                Err(ServiceError::not_found(detail)
                    .hint("`bethink instructions` lists the approved files"))
            }
        }
    }
}

fn utf8(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        ServiceError::invalid("path", "the file's real path is not UTF-8, so it cannot be stored")
    })
}
