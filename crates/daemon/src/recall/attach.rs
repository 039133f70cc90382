//! Recalled memories in a prompt: attachments at the tail, within their limits, each at most once in a view.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use bethink_context::{Attachment, Decisions};
use bethink_memdir::prompt::{Recalled as Told, recalled};
use bethink_memdir::{Name, Scope};
use bethink_transcript::{BlockKind, Role, Seq, SessionId};
use serde_json::json;

use super::choose::Found;
use super::{Key, MOST, SESSION_BYTES};
use crate::Daemon;
use crate::hot::{HotSession, Slot, tokens};
use crate::memory::Project;

/// The kind of attachment; news of the index has it, too, under a name without a scope.
const WHAT: &str = "memory";
/// Messages back from the newest whose tools are in recent use: about three rounds.
const RECENT_MESSAGES: usize = 12;
const RECENT_TOOLS: usize = 16;
/// How long a prompt waits for files that it has found: they may lie on a mount that is gone.
const PATIENCE: Duration = Duration::from_millis(300);

/// What a request for a prompt says itself, instead of the session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(super) query: Option<String>,
    pub(super) recent_tools: Option<Vec<String>>,
}

impl Asked {
    pub(crate) fn of(query: Option<String>, recent_tools: Option<Vec<String>>) -> Self {
        Self { query: query.filter(|query| !query.trim().is_empty()), recent_tools }
    }
}

/// A memory that goes into a prompt.
#[derive(Clone, Debug)]
pub(crate) struct Recalled {
    pub(crate) attachment: Attachment,
    found: Found,
}

impl Daemon {
    /// What is ready for the user's newest words. Never waits for a model.
    pub(crate) async fn recalled(
        &self,
        hot: &HotSession,
        slot: &Slot,
        project: &Project,
        asked: Asked,
    ) -> Vec<Recalled> {
        let Some(last) = hot.history.entries().last() else { return Vec::new() };
        if last.message.role != Role::User {
            return Vec::new();
        }
        let Some(round) = self.round(slot, hot, &asked) else { return Vec::new() };
        round.looked_up().await;
        let found = round.take();
        if found.is_empty() {
            return Vec::new();
        }
        let told = surfaced(&hot.decisions);
        let left = MOST.saturating_sub(told.values().filter(|after| **after >= round.of).count());
        let tools = asked.recent_tools.unwrap_or_else(|| recent_tools(hot));
        let new = found.into_iter().filter(|found| {
            let key = found.key();
            !told.contains_key(&key)
                && !is_own(hot, found)
                && !project.library.is_manual(&key, &tools)
        });
        let new: Vec<Found> = new.take(left).collect();
        self.within_limits(hot, project, new, last.message.seq).await
    }

    /// Their texts, as far as the session has room for them.
    async fn within_limits(
        &self,
        hot: &HotSession,
        project: &Project,
        found: Vec<Found>,
        after: Seq,
    ) -> Vec<Recalled> {
        let mut room = SESSION_BYTES.saturating_sub(bytes(&hot.decisions));
        let mut read = Vec::new();
        let reading = async {
            for found in found {
                let Some(text) = self.reminder(project, &found).await else { continue };
                if text.len() > room {
                    break;
                }
                room -= text.len();
                let (what, name) = (WHAT.to_owned(), name_of(&found.key()));
                let tokens = tokens(&text);
                read.push(Recalled {
                    attachment: Attachment { after, what, name, text, tokens },
                    found,
                });
            }
        };
        if tokio::time::timeout(PATIENCE, reading).await.is_err() {
            tracing::warn!(session = %hot.session.id, "the memory directory does not answer");
        }
        read
    }

    /// As the prompt says it. `None` where the file has gone or can't be read.
    pub(super) async fn reminder(&self, project: &Project, found: &Found) -> Option<String> {
        let (shelf, name) = (project.shelf(found.scope), &found.topic.name);
        let (text, _) = shelf.read(self, name).await.ok()??;
        Some(recalled(&Told {
            scope: found.scope,
            name,
            path: &shelf.dir.join(name.file()).display().to_string(),
            text: &text,
            modified: found.topic.modified,
            now: self.now(),
        }))
    }

    /// Tells those who follow the session what it was reminded of, and why.
    pub(crate) fn tell_recalled(&self, session: SessionId, recalled: &[Recalled]) {
        let Some(first) = recalled.first() else { return };
        let memories: Vec<_> = recalled
            .iter()
            .map(|recalled| {
                let Found { scope, topic, why } = &recalled.found;
                json!({ "scope": scope.as_str(), "name": topic.name.as_str(), "why": why })
            })
            .collect();
        let after = first.attachment.after;
        let data = json!({ "after_seq": after.0, "strategy": first.found.why.by,
            "memories": memories });
        self.hub().publish(session, "recall", after, &data);
    }
}

/// Memories that the view shows, with the message that each stands after.
pub(super) fn surfaced(decisions: &Decisions) -> HashMap<Key, Seq> {
    let shown = decisions.attachments().iter().filter(|a| a.what == WHAT && decisions.shows(a));
    shown.filter_map(|a| Some((key_of(&a.name)?, a.after))).collect()
}

/// Names of tools that the newest rounds called.
pub(super) fn recent_tools(hot: &HotSession) -> Vec<String> {
    let newest = hot.history.entries().iter().rev().take(RECENT_MESSAGES);
    let blocks = newest.flat_map(|entry| &entry.message.blocks);
    let mut seen = HashSet::new();
    let names = blocks.filter_map(|block| match &block.kind {
        BlockKind::ToolUse { name, .. } => Some(name.to_string()),
        _ => None,
    });
    names.filter(|name| seen.insert(name.clone())).take(RECENT_TOOLS).collect()
}

fn bytes(decisions: &Decisions) -> usize {
    let shown = decisions.attachments().iter().filter(|a| a.what == WHAT && decisions.shows(a));
    shown.filter(|a| key_of(&a.name).is_some()).map(|a| a.text.len()).sum()
}

/// What this session taught is still before its eyes, until a compaction takes that away.
fn is_own(hot: &HotSession, found: &Found) -> bool {
    let source = found.topic.header.source.as_ref();
    let since = hot.last_compaction.as_ref().filter(|c| c.undone_at.is_none());
    source.is_some_and(|source| source.session == hot.session.id.to_string())
        && since.is_none_or(|compaction| found.topic.modified >= compaction.created_at)
}

pub(super) fn name_of((scope, name): &Key) -> String {
    format!("{scope}/{name}")
}

pub(super) fn key_of(name: &str) -> Option<Key> {
    let (scope, name) = name.split_once('/')?;
    Some((scope.parse::<Scope>().ok()?, Name::parse(name).ok()?))
}
