//! Instructions in a session's prompts: the chain in the project part, and instructions for touched files at the end.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bethink_context::{Attachment, INSTRUCTIONS, ProjectTexts};
use bethink_instructions::{InstructionSet, LoadedInstruction, render};
use bethink_service::{Result, ServiceError, locked};
use bethink_sessions::{
    ClientParts, Contributed, Contribution, Contributor, Inject, LoadedSession, Moment,
    PromptRequest, SessionHandle,
};
use bethink_transcript::Role;

use super::standing::{self, InstructionGround, InstructionsShown};
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// How long a prompt waits for a disk that does not respond. Reading hundreds of files takes much less time.
const PATIENCE: Duration = Duration::from_secs(1);

/// Number of messages at the beginning of a session that are searched for instruction files. Claude Code sends such files in
/// its first message.
const FIRST_MESSAGES: usize = 2;

/// Returns the texts of the first messages, if prompts still show them.
fn first_texts(loaded: &LoadedSession) -> Vec<String> {
    if loaded.last_compaction.is_some() {
        return Vec::new();
    }
    let first = loaded.state.history.entries().iter().take(FIRST_MESSAGES);
    let blocks = first.flat_map(|entry| &entry.message.blocks);
    blocks.map(|block| block.text().into_owned()).collect()
}

impl MemoryService {
    /// Returns the chain for the project part of the system prompt, without files that the client sent itself.
    async fn instructions_part(
        &self,
        loaded: &LoadedSession,
        handle: &SessionHandle,
        project: &MemoryProject,
        given: &ClientParts,
    ) -> Result<Option<String>> {
        if !self.cx.settings().memory.instructions {
            return Ok(None);
        }
        let found = self.instructions_of(loaded, handle, project, &given.touched).await?;
        let said = first_texts(loaded);
        let is_given = |file: &LoadedInstruction| {
            let content = file.content.trim();
            given.parts.iter().any(|part| part.text.contains(content))
                || said.iter().any(|text| text.contains(content))
        };
        if !found.chain.iter().any(is_given) {
            return Ok(render::part(&found.chain));
        }
        let own: Vec<LoadedInstruction> =
            found.chain.iter().filter(|file| !is_given(file)).cloned().collect();
        Ok(render::part(&own))
    }

    /// Returns those instructions for touched files that the prompt does not show yet. They are as last read for the project
    /// part.
    fn instruction_news(&self, loaded: &LoadedSession, handle: &SessionHandle) -> Vec<Attachment> {
        let last = loaded.state.history.entries().last();
        let Some(last) = last.filter(|entry| entry.message.role == Role::User) else {
            return Vec::new();
        };
        let shown = handle.feature::<Mutex<InstructionsShown>>();
        let Some(found) = locked(&shown).found() else { return Vec::new() };
        let new = found.touched.iter().filter(|file| !is_shown(loaded, file));
        let attach = |file: &LoadedInstruction| {
            let (name, text) = (file.path.display().to_string(), render::attachment(file));
            Attachment::new(last.message.seq, INSTRUCTIONS, name, text)
        };
        new.map(attach).collect()
    }

    /// Returns the session's instructions. The files are read again if one of them has changed, if another file has
    /// been touched or approved, or if the session has been compacted.
    async fn instructions_of(
        &self,
        loaded: &LoadedSession,
        handle: &SessionHandle,
        project: &MemoryProject,
        asked: &[String],
    ) -> Result<Arc<InstructionSet>> {
        let approved = self.approved(project).await?;
        let ground = InstructionGround::of(&self.cx);
        let dir = PathBuf::from(&loaded.session.project_dir);
        let shown = handle.feature::<Mutex<InstructionsShown>>();
        let kept = Arc::clone(&shown);
        let begun = locked(&shown).begin(loaded, asked);
        let Some((touched, known)) = begun else {
            return Ok(locked(&shown).found().unwrap_or_default());
        };
        let work = move || {
            let read = match known.filter(|read| read.holds(touched.len(), &approved)) {
                Some(read) => read,
                None => standing::read(ground, &dir, &dir, &touched, approved),
            };
            locked(&shown).end(Some(read));
        };
        let work = tokio::task::spawn_blocking(work);
        match tokio::time::timeout(PATIENCE, work).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                locked(&kept).end(None);
                return Err(ServiceError::internal(error));
            }
            Err(_) => {
                tracing::warn!(session = %loaded.session.id, "could not read instruction files in time");
            }
        }
        Ok(locked(&kept).found().unwrap_or_default())
    }
}

/// Adds instruction files to prompts: the chain to the project part of the system prompt, and other files at the end.
#[derive(Debug)]
pub struct InstructionContributor(pub MemoryService);

impl Contributor for InstructionContributor {
    fn contribute<'a>(&'a self, asked: PromptRequest<'a>) -> Contributed<'a, Contribution> {
        Box::pin(async move {
            let PromptRequest { handle, loaded, client, inject, moment, .. } = asked;
            if inject != Inject::Full {
                return Ok(Contribution::default());
            }
            let Some(project) = self.0.project_of(loaded, inject).await? else {
                return Ok(Contribution::default());
            };
            let instructions = self.0.instructions_part(loaded, handle, &project, client).await?;
            let system = ProjectTexts { instructions, ..ProjectTexts::default() };
            let reminders = match moment {
                Moment::Begin { reminds: true } | Moment::Compacted => {
                    self.0.instruction_news(loaded, handle)
                }
                Moment::Begin { reminds: false } | Moment::Look => Vec::new(),
            };
            // The prompt's decisions already record what was shown.
            Ok(Contribution { system, reminders, once_kept: None })
        })
    }
}

/// Whether the newest attachment for a file shows the file's current text.
fn is_shown(loaded: &LoadedSession, file: &LoadedInstruction) -> bool {
    let name = file.path.display().to_string();
    let mut shown = loaded.state.decisions.attachments().iter().rev();
    let newest = shown.find(|shown| shown.what == INSTRUCTIONS && shown.name == name);
    newest.is_some_and(|shown| render::says(&shown.text, file))
}
