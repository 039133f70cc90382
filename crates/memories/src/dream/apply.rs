//! Applies a plan, file by file.

use std::sync::Arc;

use bethink_api as api;
use bethink_dream::{DreamPlan, PlannedChange};
use bethink_memdir::Scope;
use bethink_memdir::index::TopicWords;
use bethink_memdir_fs::{DirectoryFile, MemoryRoot};
use bethink_service::{ErrorKind, Result, at_low_priority};

use crate::index_line::{WordsChange, followed};
use crate::memory_write::{Author, Expected, MemoryWrite};
use crate::project::MemoryProject;
use crate::service::MemoryService;

#[derive(Debug, Default)]
pub(super) struct AppliedPlan {
    pub(super) files: Vec<String>,
    pub(super) left: Vec<api::DreamLeft>,
}

impl MemoryService {
    /// Changes the topics, then the index.
    pub(super) async fn apply_dream(
        &self,
        place: (&MemoryProject, Scope, &Arc<MemoryRoot>),
        plan: &DreamPlan,
        dreamer: &Author,
    ) -> Result<AppliedPlan> {
        let (project, scope, _) = place;
        let mut applied = AppliedPlan::default();
        for change in &plan.changes {
            let DirectoryFile::Topic(name) = &change.file else { continue };
            if change.after.is_none() && !applied.left.is_empty() {
                let why =
                    "its text may have been meant for a file that could not be changed".to_owned();
                applied.left.push(api::DreamLeft { file: name.file(), why });
                continue;
            }
            self.change_in_dream((project, scope), change, dreamer, &mut applied).await?;
        }
        self.apply_index(place, plan, dreamer, &mut applied).await?;
        Ok(applied)
    }

    /// Writes the planned index. If somebody else has changed the index or a topic in the meantime, the index is
    /// planned again.
    async fn apply_index(
        &self,
        (project, scope, root): (&MemoryProject, Scope, &Arc<MemoryRoot>),
        plan: &DreamPlan,
        dreamer: &Author,
        applied: &mut AppliedPlan,
    ) -> Result<()> {
        let index = plan.changes.iter().find(|change| change.file == DirectoryFile::Index);
        if applied.left.is_empty() {
            let Some(change) = index else { return Ok(()) };
            let mut tried = AppliedPlan::default();
            self.change_in_dream((project, scope), change, dreamer, &mut tried).await?;
            if tried.left.is_empty() {
                applied.files.extend(tried.files);
                return Ok(());
            }
        }
        let changes: Vec<WordsChange> =
            plan.changes.iter().filter_map(|change| words_change(change, &applied.files)).collect();
        let write = MemoryWrite {
            scope,
            file: DirectoryFile::Index,
            text: None,
            expected: Expected::Anything,
            author: dreamer.clone(),
        };
        let shown = project.directory(scope);
        self.change_text(shown, &write, |index| followed(index, &changes)).await?;
        let directory = self.dream_directory(project.directory(scope), root).await?;
        let now = self.cx.now();
        let plan = at_low_priority(move || bethink_dream::plan(&directory, &[], now)).await?;
        let index = plan.changes.iter().find(|change| change.file == DirectoryFile::Index);
        if let Some(change) = index {
            self.change_in_dream((project, scope), change, dreamer, applied).await?;
        }
        Ok(())
    }

    /// Changes a file if it still has the text that the plan was made for.
    async fn change_in_dream(
        &self,
        (project, scope): (&MemoryProject, Scope),
        change: &PlannedChange,
        dreamer: &Author,
        applied: &mut AppliedPlan,
    ) -> Result<()> {
        let path = change.file.path();
        let (text, expected, author) =
            (change.after.clone(), change.expected().into(), dreamer.clone());
        let file = change.file.clone();
        let write = MemoryWrite { scope, file, text, expected, author };
        let Err(error) = self.write_memory(project, write).await else {
            applied.files.push(path);
            return Ok(());
        };
        match error.kind {
            ErrorKind::Conflict | ErrorKind::ReadOnly | ErrorKind::Invalid => {
                applied.left.push(api::DreamLeft { file: path, why: error.detail });
                Ok(())
            }
            _ => Err(error),
        }
    }
}

/// Returns the change to a topic's title and description, if the change was applied.
fn words_change(change: &PlannedChange, applied: &[String]) -> Option<WordsChange> {
    let DirectoryFile::Topic(name) = &change.file else { return None };
    applied.contains(&name.file()).then_some(())?;
    let words = |text: &String| TopicWords::of(name, text);
    Some(WordsChange {
        old: change.before.as_ref().map(words)?,
        new: change.after.as_ref().map(words)?,
    })
}
