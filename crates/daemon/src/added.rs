//! What bethink adds to a prompt of its own: instruction files and the memory's index around the conversation,
//! reminders at its tail.

use std::sync::Arc;

use bethink_context::todos;
use bethink_context::{Attachment, Decisions};
use bethink_transcript::Role;

use crate::frame::{Frame, Given};
use crate::hot::{HotSession, Slot, tokens};
use crate::limits::TODOS_WHOLE_EVERY;
use crate::memory::{Inject, Project, ProjectPart};
use crate::{Daemon, Kind, Result};

impl Daemon {
    /// The session's project, where anything of it is wanted in the prompt.
    pub(crate) async fn project_of(
        &self,
        hot: &HotSession,
        inject: Inject,
    ) -> Result<Option<Arc<Project>>> {
        if inject == Inject::Off {
            return Ok(None);
        }
        match self.project(&hot.session.project_dir).await {
            Ok(project) => {
                project.followed_by(hot.session.id);
                Ok(Some(project))
            }
            // An old session of a relative directory has no memory, and goes on.
            Err(refusal) if refusal.kind == Kind::Invalid => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// System and tools, with what bethink adds of the project.
    pub(crate) async fn frame(
        &self,
        hot: &HotSession,
        slot: &Slot,
        project: Option<&Project>,
        given: &Given,
        inject: Inject,
    ) -> Result<Frame> {
        let mut added = ProjectPart::default();
        if let (Some(project), Inject::Full) = (project, inject) {
            added.instructions = self.instructions_part(hot, slot, project, given).await?;
            added.memory = self.index_part(hot, slot, project).await;
        }
        Frame::new(given, added)
    }

    /// What is said at the tail before the stages decide.
    pub(crate) async fn reminders(
        &self,
        hot: &HotSession,
        slot: &Slot,
        project: Option<&Project>,
        inject: Inject,
    ) -> Result<Vec<Attachment>> {
        let mut reminders = Vec::new();
        reminders.extend(self.notes_to_bring_back(hot, self.now()).await?);
        reminders.extend(self.memory_news(hot, slot, project));
        if inject == Inject::Full {
            reminders.extend(self.instruction_news(hot, slot));
        }
        Ok(reminders)
    }

    /// Of these the news of the memory's index.
    pub(crate) fn memory_news(
        &self,
        hot: &HotSession,
        slot: &Slot,
        project: Option<&Project>,
    ) -> Vec<Attachment> {
        project.and_then(|project| self.index_news(hot, slot, project)).into_iter().collect()
    }
}

/// Tokens of what the tail says of memory.
pub(crate) fn memory_tokens(decisions: &Decisions) -> u64 {
    let memory =
        decisions.attachments().iter().filter(|a| a.what == "memory" && decisions.shows(a));
    memory.map(|a| u64::from(a.tokens)).sum()
}

/// The reminder after a tool round, once for each round.
pub(crate) fn todo_reminder(hot: &mut HotSession) -> Option<Attachment> {
    let last = hot.history.entries().last()?;
    last.message.tool_results().next()?;
    let after = last.message.seq;
    // A round whose own call set the list shows it already.
    let round_starts =
        hot.history.entries().iter().rposition(|e| e.message.role == Role::Assistant)?;
    let own_call = hot
        .history
        .entries()
        .get(round_starts)
        .is_some_and(|e| todos::set_by(&e.message).is_some());
    let already = hot.decisions.attachments().iter().any(|a| a.after == after && a.what == "todos");
    if own_call || already {
        return None;
    }
    let whole = hot.todos.changed || hot.todos.short >= TODOS_WHOLE_EVERY;
    let text = todos::reminder(&hot.todos.list, whole)?;
    hot.todos.short = if whole { 0 } else { hot.todos.short + 1 };
    hot.todos.changed = false;
    let tokens = tokens(&text);
    Some(Attachment { after, what: "todos".to_owned(), name: String::new(), text, tokens })
}
