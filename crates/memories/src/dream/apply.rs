//! A plan made true, file by file.

use std::sync::Arc;

use bethink_api as api;
use bethink_dream::{DreamPlan, PlannedChange};
use bethink_memdir::Scope;
use bethink_memdir_fs::{DirectoryFile, MemoryRoot};
use bethink_service::{ErrorKind, Result, at_low_priority};
use bethink_transcript::SessionId;

use crate::memory_write::{Author, MemoryWrite};
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// Under which a dream's versions are noted, and where it was asked for.
#[derive(Clone, Debug)]
pub(super) struct Dreamer {
    pub(super) id: String,
    pub(super) session: Option<SessionId>,
}

#[derive(Debug, Default)]
pub(super) struct AppliedPlan {
    pub(super) files: Vec<String>,
    pub(super) left: Vec<api::DreamLeft>,
}

impl MemoryService {
    /// Topics first; the index is then planned anew, because each topic that comes or goes brings its line along.
    pub(super) async fn apply_dream(
        &self,
        project: &MemoryProject,
        root: &Arc<MemoryRoot>,
        plan: &DreamPlan,
        dreamer: &Dreamer,
    ) -> Result<AppliedPlan> {
        let mut applied = AppliedPlan::default();
        for change in &plan.changes {
            let bethink_dream::MemoryFile::Topic(name) = &change.file else { continue };
            if change.after.is_none() && !applied.left.is_empty() {
                // What would be removed may have been meant for the file that was left.
                let why = "another file was left alone, so nothing is removed".to_owned();
                applied.left.push(api::DreamLeft { file: name.file(), why });
                continue;
            }
            let file = DirectoryFile::Topic(name.clone());
            self.change_in_dream(project, file, change, dreamer, &mut applied).await?;
        }
        self.apply_index(project, root, dreamer, &mut applied).await?;
        Ok(applied)
    }

    async fn apply_index(
        &self,
        project: &MemoryProject,
        root: &Arc<MemoryRoot>,
        dreamer: &Dreamer,
        applied: &mut AppliedPlan,
    ) -> Result<()> {
        let directory = self.dream_directory(project.directory(Scope::Private), root).await?;
        let now = self.cx.now();
        let plan = at_low_priority(move || bethink_dream::plan(&directory, &[], now)).await?;
        let index =
            plan.changes.iter().find(|change| change.file == bethink_dream::MemoryFile::Index);
        if let Some(change) = index {
            self.change_in_dream(project, DirectoryFile::Index, change, dreamer, applied).await?;
        }
        Ok(())
    }

    /// One file, if it still holds what the plan was made for.
    async fn change_in_dream(
        &self,
        project: &MemoryProject,
        file: DirectoryFile,
        change: &PlannedChange,
        dreamer: &Dreamer,
        applied: &mut AppliedPlan,
    ) -> Result<()> {
        let path = file.path();
        let write = MemoryWrite {
            scope: Scope::Private,
            file,
            text: change.after.clone(),
            wish: change.expected().into(),
            author: Author {
                by: api::MemoryAuthor::Dream,
                session: dreamer.session,
                note: dreamer.id.clone(),
            },
        };
        match self.write_memory(project, write).await {
            Ok(_) => applied.files.push(path),
            Err(error)
                if matches!(
                    error.kind,
                    ErrorKind::Conflict | ErrorKind::ReadOnly | ErrorKind::Invalid
                ) =>
            {
                applied.left.push(api::DreamLeft { file: path, why: error.detail });
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
