//! Adds recalled memories to a prompt: as attachments at the end, within limits, and each at most once per view.

use std::sync::Arc;
use std::time::Duration;

use bethink_context::{Attachment, Decisions};
use bethink_memdir::prompt::{RecalledText, recalled};
use bethink_service::{Event, RecalledTopic};
use bethink_sessions::{
    Contributed, Contribution, Contributor, LoadedSession, Moment, PromptRequest, RecallQuery,
    SessionHandle,
};
use bethink_transcript::{Role, Seq, SessionId};

use super::choose::FoundMemory;
use super::round::Round;
use super::view::{OwnMemories, WHAT, key_of, name_of, recent_tools, surfaced};
use super::{MOST, SESSION_BYTES};
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// How long a prompt waits for the files to be read: they may be on a mount that no longer responds.
const PATIENCE: Duration = Duration::from_millis(300);

#[derive(Clone, Debug)]
struct RecalledAttachment {
    attachment: Attachment,
    found: FoundMemory,
}

impl MemoryService {
    /// Returns the memories to add: pinned ones that the view does not show, and results that are ready, with their round and
    /// whether a model chose them. Never waits for a model.
    async fn recalled(
        &self,
        loaded: &LoadedSession,
        handle: &SessionHandle,
        project: &MemoryProject,
        asked: &RecallQuery,
    ) -> Option<(Option<(Arc<Round>, bool)>, Vec<RecalledAttachment>)> {
        let last = loaded.state.history.entries().last()?;
        if last.message.role != Role::User {
            return None;
        }
        let round = self.round(handle, loaded, asked)?;
        self.choose_in_background(&round);
        round.looked_up().await;
        let (found, by_model) = round.ready();
        let pinned = round.pinned();
        if found.is_empty() && pinned.is_empty() {
            return None;
        }
        let shown = surfaced(&loaded.state.decisions);
        let left = MOST.saturating_sub(shown.values().filter(|after| **after >= round.of).count());
        let tools = asked.recent_tools.clone().unwrap_or_else(|| recent_tools(loaded));
        let own = OwnMemories::of(loaded);
        let used = (!found.is_empty()).then_some((round, by_model));
        let is_pinned = |found: &FoundMemory| pinned.iter().any(|one| one.key() == found.key());
        let found = found
            .into_iter()
            .filter(|found| !is_pinned(found) && !project.library.is_manual(&found.key(), &tools));
        let new = pinned.iter().cloned().chain(found);
        let new = new.filter(|new| !shown.contains_key(&new.key()) && !own.has(&new.topic));
        let new: Vec<FoundMemory> = new.take(left).collect();
        let recalled = self.within_limits(loaded, project, new, last.message.seq).await;
        Some((used, recalled))
    }

    /// Reads the memories' texts, as many as fit the session's limit.
    async fn within_limits(
        &self,
        loaded: &LoadedSession,
        project: &MemoryProject,
        found: Vec<FoundMemory>,
        after: Seq,
    ) -> Vec<RecalledAttachment> {
        let mut room = SESSION_BYTES.saturating_sub(bytes(&loaded.state.decisions));
        let mut read = Vec::new();
        let reading = async {
            for found in found {
                let Some(text) = self.reminder(project, &found).await else { continue };
                if text.len() > room {
                    break;
                }
                room -= text.len();
                let attachment = Attachment::new(after, WHAT, name_of(&found.key()), text);
                read.push(RecalledAttachment { attachment, found });
            }
        };
        if tokio::time::timeout(PATIENCE, reading).await.is_err() {
            tracing::warn!(session = %loaded.session.id, "could not read the memory directory in time");
        }
        read
    }

    /// Returns a memory's text for a prompt, or `None` if its file cannot be read or is held back.
    pub(super) async fn reminder(
        &self,
        project: &MemoryProject,
        found: &FoundMemory,
    ) -> Option<String> {
        let (directory, name) = (project.directory(found.scope), &found.topic.name);
        let (text, _) = directory.read(name).await.ok()??;
        if !self.held_back(directory, &text).await.ok()?.is_empty() {
            return None;
        }
        Some(recalled(&RecalledText {
            scope: found.scope,
            name,
            path: &directory.dir.join(name.file()).display().to_string(),
            text: &text,
            modified: found.topic.modified,
            now: self.cx.now(),
            versions: &directory.shown().other_versions(name),
            unmerged: found.unmerged.as_deref(),
            pinned: found.why.pinned,
        }))
    }

    /// Publishes which memories were recalled for the session, and why.
    fn publish_recalled(&self, session: SessionId, recalled: &[RecalledAttachment]) {
        let Some(first) = recalled.first() else { return };
        let memories = recalled.iter().map(|recalled| {
            let FoundMemory { scope, topic, why, .. } = &recalled.found;
            let (name, why) = (topic.name.to_string(), why.clone());
            RecalledTopic { name, scope: *scope, why }
        });
        let after = first.attachment.after;
        let strategy = first.found.why.by;
        let event = Event::Recall { after_seq: after, strategy, memories: memories.collect() };
        self.cx.hub().publish(session, after, &event);
    }
}

/// Adds memories that are relevant to the newest user message at the end of a prompt.
#[derive(Debug)]
pub struct RecallContributor(pub MemoryService);

impl Contributor for RecallContributor {
    fn contribute<'a>(&'a self, asked: PromptRequest<'a>) -> Contributed<'a, Contribution> {
        Box::pin(async move {
            let PromptRequest { handle, loaded, inject, recall, moment, .. } = asked;
            if !matches!(moment, Moment::Begin { .. }) {
                return Ok(Contribution::default());
            }
            let Some(project) = self.0.project_of(loaded, inject).await? else {
                return Ok(Contribution::default());
            };
            let ready = self.0.recalled(loaded, handle, &project, recall).await;
            let Some((used, recalled)) = ready else {
                return Ok(Contribution::default());
            };
            let reminders = recalled.iter().map(|recalled| recalled.attachment.clone()).collect();
            let (memories, session) = (self.0.clone(), handle.id);
            let once_kept = move || {
                if let Some((round, by_model)) = used {
                    round.mark_used(by_model);
                }
                memories.publish_recalled(session, &recalled);
            };
            let once_kept = Some(Box::new(once_kept) as _);
            Ok(Contribution { reminders, once_kept, ..Contribution::default() })
        })
    }
}

fn bytes(decisions: &Decisions) -> usize {
    let shown = decisions.attachments().iter().filter(|a| a.what == WHAT && decisions.shows(a));
    shown.filter(|a| key_of(&a.name).is_some()).map(|a| a.text.len()).sum()
}
