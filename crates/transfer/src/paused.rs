//! The parts of a transcript that must not be recorded because of a pause.

use std::collections::HashSet;

use bethink_service::RecordingRules;
use bethink_session_file::{RecordedCompaction, SessionFileFacts};
use bethink_transcript::{Message, UnixMicros};

/// What a pause hides in a transcript: the messages in it, and later texts that may repeat them, because the agent made
/// them from the whole conversation.
#[derive(Debug)]
pub struct PausedParts<'a> {
    rules: &'a RecordingRules,
    first_at: Option<UnixMicros>,
    summaries: HashSet<&'a str>,
}

impl<'a> PausedParts<'a> {
    /// Reads the facts of all lines so far, including those before the stored position.
    pub fn new(rules: &'a RecordingRules, facts: &'a SessionFileFacts) -> Self {
        let mut parts = Self { rules, first_at: facts.first_at, summaries: HashSet::new() };
        let repeating = facts.compactions.iter().filter(|one| parts.may_repeat(one.created_at));
        parts.summaries = repeating.map(|one| one.summary_id.as_str()).collect();
        parts
    }

    /// Returns whether a message was sent during a pause, or is a summary that may repeat one.
    pub fn has_message(&self, message: &Message) -> bool {
        self.rules.pause_at(message.created_at).is_some()
            || self.summaries.contains(message.id.as_str())
    }

    pub fn has_compaction(&self, compaction: &RecordedCompaction) -> bool {
        self.may_repeat(compaction.created_at)
    }

    /// Returns whether a text that was made at this time from the whole transcript may repeat what was said during a
    /// pause.
    pub fn may_repeat(&self, at: UnixMicros) -> bool {
        self.first_at.is_some_and(|first| self.rules.was_paused_between(first, at))
    }
}
