//! Writes memory files. Every write compares the file with the text that was read, and stores versions.
//!
//! The old text is stored before the file changes, and the new text before the write is acknowledged. No acknowledged
//! text is therefore ever lost, even if another program overwrites it.

use bethink_api as api;
use bethink_api::{MemoryAuthor, MemoryOutcome};
use bethink_memdir::Scope;
use bethink_memdir::index::{self, IndexWarning};
use bethink_memdir::name::REJECTIONS;
use bethink_memdir_fs::{DirectoryFile, FileContent, WriteOutcome};
use bethink_service::{Event, Result};
use bethink_transcript::Seq;

use crate::change::lost;
use crate::held_back::team_gate;
use crate::memory_write::{Author, Expected, MemoryWrite, within_limit};
use crate::project::MemoryProject;
use crate::read::{file_of, name_of, no_file};
use crate::service::MemoryService;
use crate::stamp::{stamped, with_persons_recall};

impl MemoryService {
    pub async fn put_memory(
        &self,
        project_dir: &str,
        scope: Scope,
        name: &str,
        text: String,
        expected: Expected,
    ) -> Result<api::MemoryWritten> {
        let project = self.project(project_dir).await?;
        let file = file_of(name)?;
        let (text, author) = (Some(text), Author::person());
        let write = MemoryWrite { scope, file, text, expected, author };
        self.write_memory(&project, write).await
    }

    pub async fn delete_memory(
        &self,
        project_dir: &str,
        scope: Scope,
        name: &str,
        expected: Expected,
    ) -> Result<api::MemoryWritten> {
        let project = self.project(project_dir).await?;
        let file = DirectoryFile::Topic(name_of(name)?);
        let (text, author) = (None, Author::person());
        let write = MemoryWrite { scope, file: file.clone(), text, expected, author };
        let done = self.write_memory(&project, write).await?;
        match done.outcome {
            MemoryOutcome::Same => Err(no_file(project.directory(scope), &file)),
            _ => Ok(done),
        }
    }

    /// Makes a change, stores its versions, updates the index and publishes the change.
    pub async fn write_memory(
        &self,
        project: &MemoryProject,
        write: MemoryWrite,
    ) -> Result<api::MemoryWritten> {
        let written = Box::pin(self.write_checked(project, write)).await;
        written.inspect_err(|error| self.cx.storage().suspect(error))
    }

    async fn write_checked(
        &self,
        project: &MemoryProject,
        write: MemoryWrite,
    ) -> Result<api::MemoryWritten> {
        if let Some(text) = &write.text {
            within_limit(&write.file.path(), text)?;
        }
        let directory = project.directory(write.scope);
        match (&write.text, write.scope) {
            (Some(text), Scope::Team) => team_gate(text)?,
            (Some(text), Scope::Private | Scope::Person) => {
                self.check_for_secrets(directory, &write, text).await?;
            }
            (None, _) => {}
        }
        let turn = directory.turn(&write.file).await;
        let current = directory.read_file(&write.file).await?;
        // Before the file, so that a kill leaves no memory of an unknown project.
        if current.is_none() && write.text.is_some() && write.scope == Scope::Private {
            self.note_root(project).await;
        }
        let current = current.as_ref().and_then(FileContent::text);
        let write = stamped(write, current, self.cx.now());
        let write = self.with_branch(write, current).await;
        let write = with_persons_recall(write, current);
        let tried = self.change(directory, &write).await?;
        drop(turn);
        let (mut warnings, mut before) = (Vec::new(), None);
        let (outcome, hash) = match tried {
            WriteOutcome::Same { hash, .. } => (MemoryOutcome::Same, Some(hash)),
            WriteOutcome::Absent => (MemoryOutcome::Same, None),
            WriteOutcome::Removed { .. } => (MemoryOutcome::Removed, None),
            WriteOutcome::Done { hash, before: None, .. } => (MemoryOutcome::Created, Some(hash)),
            WriteOutcome::Done { hash, before: Some(content), .. } => {
                before = content.text().map(str::to_owned);
                (MemoryOutcome::Changed, Some(hash))
            }
            WriteOutcome::Conflict(conflict) => return Err(lost(&write, conflict)),
        };
        if let DirectoryFile::Topic(name) = &write.file
            && outcome != MemoryOutcome::Same
            // A sync or a dream writes the index itself.
            && !matches!(write.author.by, MemoryAuthor::Sync | MemoryAuthor::Dream)
        {
            warnings.extend(self.index_line(directory, name, &write, before.as_deref()).await);
        }
        let shown = self.snapshot(directory).await?;
        if let Some(index) = &shown.index {
            // The author of one line need not know that another one is too long.
            let caps = index::warnings(&index.text);
            let caps =
                caps.iter().filter(|warning| !matches!(warning, IndexWarning::LongLine { .. }));
            warnings.extend(caps.map(ToString::to_string));
        }
        if outcome != MemoryOutcome::Same {
            self.publish_memory(project, &write, outcome);
        }
        let name = match &write.file {
            DirectoryFile::Index => "MEMORY".to_owned(),
            DirectoryFile::Rejections => REJECTIONS.trim_end_matches(".md").to_owned(),
            DirectoryFile::Topic(name) => name.to_string(),
        };
        Ok(api::MemoryWritten {
            scope: write.scope,
            name,
            kind: write.kind(),
            path: directory.dir.join(write.file.path()).display().to_string(),
            etag: hash.map_or_else(String::new, |hash| hash.to_string()),
            outcome,
            warnings,
        })
    }

    fn publish_memory(&self, project: &MemoryProject, write: &MemoryWrite, outcome: MemoryOutcome) {
        let event = Event::Memory {
            project: project.key.clone(),
            scope: write.scope,
            file: write.file.path(),
            outcome,
            by: write.author.by,
        };
        for session in project.followers().into_iter().chain(write.author.session) {
            self.cx.hub().publish_in_session(session, Seq::ZERO, &event);
        }
        self.cx.hub().announce(write.author.session, &event);
    }
}
