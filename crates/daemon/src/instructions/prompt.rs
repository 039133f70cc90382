//! Instructions in a session's prompts: the chain in the project part, the rest at the tail.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bethink_context::{Attachment, INSTRUCTIONS};
use bethink_instructions::{Instructions, Loaded, render};
use bethink_transcript::Role;

use super::places::{self, Ground};
use crate::frame::Given;
use crate::hot::{HotSession, Slot, tokens};
use crate::memory::Project;
use crate::{Daemon, Refusal, Result};

/// How long a prompt waits for a disk that does not answer, such as a mount that is gone: hundreds of files
/// are read in much less.
const PATIENCE: Duration = Duration::from_secs(1);

impl Daemon {
    /// The chain for the system's project part. A file that the client sent itself is not said twice.
    pub(crate) async fn instructions_part(
        &self,
        hot: &HotSession,
        slot: &Slot,
        project: &Project,
        given: &Given,
    ) -> Result<Option<String>> {
        if !self.settings().memory.instructions {
            return Ok(None);
        }
        let found = self.instructions_of(hot, slot, project, &given.touched).await?;
        let is_given =
            |file: &Loaded| given.parts.iter().any(|part| part.text.contains(&file.content));
        if !found.chain.iter().any(is_given) {
            return Ok(render::part(&found.chain));
        }
        let own: Vec<Loaded> = found.chain.iter().filter(|file| !is_given(file)).cloned().collect();
        Ok(render::part(&own))
    }

    /// What touched files brought in and the prompt does not show yet, as last read for the project part.
    pub(crate) fn instruction_news(&self, hot: &HotSession, slot: &Slot) -> Vec<Attachment> {
        let last = hot.history.entries().last();
        let Some(last) = last.filter(|entry| entry.message.role == Role::User) else {
            return Vec::new();
        };
        let Some(found) = slot.instructions.found() else { return Vec::new() };
        let new = found.touched.iter().filter(|file| !is_shown(hot, file));
        let attach = |file: &Loaded| {
            let text = render::attachment(file);
            let tokens = tokens(&text);
            let (what, name) = (INSTRUCTIONS.to_owned(), file.path.display().to_string());
            Attachment { after: last.message.seq, what, name, text, tokens }
        };
        new.map(attach).collect()
    }

    /// Read again when a file changed, another was touched or approved, or the window was compacted.
    async fn instructions_of(
        &self,
        hot: &HotSession,
        slot: &Slot,
        project: &Project,
        asked: &[String],
    ) -> Result<Arc<Instructions>> {
        let approved = self.approved(&project.key).await?;
        let ground = Ground { home: self.settings().person.clone(), now: self.now() };
        let dir = PathBuf::from(&hot.session.project_dir);
        let shown = slot.instructions.clone();
        let Some((touched, known)) = shown.begin(hot, asked) else {
            return Ok(shown.found().unwrap_or_default());
        };
        let work = move || {
            let read = match known.filter(|read| read.holds(touched.len(), &approved)) {
                Some(read) => read,
                None => places::read(&ground, &dir, &dir, &touched, approved),
            };
            shown.end(read);
        };
        let work = tokio::task::spawn_blocking(work);
        match tokio::time::timeout(PATIENCE, work).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                slot.instructions.broke();
                return Err(Refusal::internal(error));
            }
            Err(_) => {
                tracing::warn!(session = %hot.session.id, "instruction files are not answering");
            }
        }
        Ok(slot.instructions.found().unwrap_or_default())
    }
}

/// The newest attachment of that file says what the file says now.
fn is_shown(hot: &HotSession, file: &Loaded) -> bool {
    let name = file.path.display().to_string();
    let mut shown = hot.decisions.attachments().iter().rev();
    let newest = shown.find(|shown| shown.what == INSTRUCTIONS && shown.name == name);
    newest.is_some_and(|shown| render::says(&shown.text, file))
}
