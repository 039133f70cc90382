//! Finds the memories that a session's view shows, and the tools in use.

use std::collections::{HashMap, HashSet};

use bethink_context::Decisions;
use bethink_memdir::Name;
use bethink_sessions::LoadedSession;
use bethink_transcript::{BlockKind, Seq, UnixMicros};

use super::Key;
use crate::directory::MemoryTopic;

/// The kind of attachment that shows recalled memories. Index changes have the same kind, but their names have no
/// scope.
pub(super) const WHAT: &str = "memory";
/// Number of newest messages in which tool calls count as recent.
const RECENT_MESSAGES: usize = 12;
const RECENT_TOOLS: usize = 16;

/// Returns the memories that the view shows, each with the message that it comes after.
pub(super) fn surfaced(decisions: &Decisions) -> HashMap<Key, Seq> {
    let shown = decisions.attachments().iter().filter(|a| a.what == WHAT && decisions.shows(a));
    shown.filter_map(|a| Some((key_of(&a.name)?, a.after))).collect()
}

pub(super) fn recent_tools(loaded: &LoadedSession) -> Vec<String> {
    let newest = loaded.state.history.entries().iter().rev().take(RECENT_MESSAGES);
    let blocks = newest.flat_map(|entry| &entry.message.blocks);
    let mut seen = HashSet::new();
    let names = blocks.filter_map(|block| match &block.kind {
        BlockKind::ToolUse { name, .. } => Some(name.to_string()),
        _ => None,
    });
    names.filter(|name| seen.insert(name.clone())).take(RECENT_TOOLS).collect()
}

/// The memories that were extracted from a session after its last compaction, so that its prompts still show the source.
#[derive(Clone, Debug)]
pub(super) struct OwnMemories {
    session: String,
    /// When the last compaction was made, if it was not undone.
    since: Option<UnixMicros>,
}

impl OwnMemories {
    pub(super) fn of(loaded: &LoadedSession) -> Self {
        let last = loaded.last_compaction.as_ref().filter(|c| c.undone_at.is_none());
        Self {
            session: loaded.session.id.to_string(),
            since: last.map(|compaction| compaction.created_at),
        }
    }

    pub(super) fn has(&self, topic: &MemoryTopic) -> bool {
        let source = topic.header.source.as_ref();
        source.is_some_and(|source| source.session == self.session)
            && self.since.is_none_or(|since| topic.modified >= since)
    }
}

pub(super) fn name_of((scope, name): &Key) -> String {
    format!("{scope}/{name}")
}

pub(crate) fn key_of(name: &str) -> Option<Key> {
    let (scope, name) = name.split_once('/')?;
    Some((bethink_api::parse_word(scope)?, Name::parse(name).ok()?))
}
