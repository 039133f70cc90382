//! A plan made true, file by file.

use std::sync::Arc;

use bethink_api as api;
use bethink_dream::{Change, Plan};
use bethink_memdir::Scope;
use bethink_memdir_fs::{File, MemoryRoot};
use bethink_transcript::SessionId;

use crate::memory::{Author, MemoryWish, MemoryWrite, Project};
use crate::quiet::quietly;
use crate::{Daemon, Kind, Result};

/// Under which a dream's versions are noted, and where it was asked for.
#[derive(Clone, Debug)]
pub(super) struct Dreamer {
    pub(super) id: String,
    pub(super) session: Option<SessionId>,
}

/// What became of a plan.
#[derive(Debug, Default)]
pub(super) struct Applied {
    pub(super) files: Vec<String>,
    pub(super) left: Vec<api::DreamLeft>,
}

impl Daemon {
    /// Topics first; the index is then planned anew, because each topic that comes or goes brings its line along.
    pub(super) async fn apply_dream(
        &self,
        project: &Project,
        root: &Arc<MemoryRoot>,
        plan: &Plan,
        dreamer: &Dreamer,
    ) -> Result<Applied> {
        let mut applied = Applied::default();
        for change in &plan.changes {
            let bethink_dream::File::Topic(name) = &change.file else { continue };
            if change.after.is_none() && !applied.left.is_empty() {
                // What would be removed may have been meant for the file that was left.
                let why = "another file was left alone, so nothing is removed".to_owned();
                applied.left.push(api::DreamLeft { file: name.file(), why });
                continue;
            }
            self.change_in_dream(project, File::Topic(name.clone()), change, dreamer, &mut applied)
                .await?;
        }
        self.apply_index(project, root, dreamer, &mut applied).await?;
        Ok(applied)
    }

    async fn apply_index(
        &self,
        project: &Project,
        root: &Arc<MemoryRoot>,
        dreamer: &Dreamer,
        applied: &mut Applied,
    ) -> Result<()> {
        let directory = self.dream_directory(project.shelf(Scope::Private), root).await?;
        let now = self.now();
        let plan = quietly(move || bethink_dream::plan(&directory, &[], now)).await?;
        let index = plan.changes.iter().find(|change| change.file == bethink_dream::File::Index);
        if let Some(change) = index {
            self.change_in_dream(project, File::Index, change, dreamer, applied).await?;
        }
        Ok(())
    }

    /// One file, if it still holds what the plan was made for.
    async fn change_in_dream(
        &self,
        project: &Project,
        file: File,
        change: &Change,
        dreamer: &Dreamer,
        applied: &mut Applied,
    ) -> Result<()> {
        let path = file.path();
        let write = MemoryWrite {
            scope: Scope::Private,
            file,
            text: change.after.clone(),
            wish: change.expected().map_or(MemoryWish::Absent, MemoryWish::Hash),
            author: Author { by: "dream", session: dreamer.session, note: dreamer.id.clone() },
        };
        match self.write_memory(project, write).await {
            Ok(_) => applied.files.push(path),
            Err(refusal)
                if matches!(refusal.kind, Kind::Conflict | Kind::ReadOnly | Kind::Invalid) =>
            {
                applied.left.push(api::DreamLeft { file: path, why: refusal.detail });
            }
            Err(refusal) => return Err(refusal),
        }
        Ok(())
    }
}
