//! Measures how much a session has grown since its notes were written.

use std::sync::{Mutex, MutexGuard};

use bethink_context::HistoryEntry;
use bethink_service::locked;
use bethink_session_memory::{GateLimits, Growth};
use bethink_sessions::SessionFeature;
use bethink_store::{CompactionRecord, NotesRecord};
use bethink_transcript::Seq;

#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<MeterState>);

#[derive(Debug, Default)]
pub(crate) struct MeterState {
    pub(crate) growth: Growth,
    /// The newest message that has been counted or that the notes cover.
    through: Seq,
}

impl SessionFeature for Meter {}

impl Meter {
    pub(crate) fn state(&self) -> MutexGuard<'_, MeterState> {
        locked(&self.0)
    }

    /// Starts counting from the newest message that the notes cover. Without notes, starts from the last compaction,
    /// and from the number of tokens that it measured. `copied` are the messages that a fork has from its parent.
    pub(crate) fn begin(
        &self,
        notes: Option<&NotesRecord>,
        compaction: Option<&CompactionRecord>,
        copied: &[HistoryEntry],
    ) {
        let mut state = match (notes, compaction) {
            (Some(notes), _) if notes.through > Seq::ZERO => {
                MeterState { growth: Growth::from(notes.tokens, true), through: notes.through }
            }
            (_, Some(compaction)) => MeterState {
                growth: Growth::from(compaction.tokens_before, false),
                through: compaction.made_after,
            },
            (_, None) => MeterState::default(),
        };
        // The fork begins before the last message that its parent's notes cover, so it has none of their lines, but its
        // parent has paid for them.
        if let Some(inherited) = notes.filter(|n| n.through == Seq::ZERO && n.tokens > 0) {
            let known = copied.partition_point(|entry| entry.message.seq <= state.through);
            let copied: u64 = copied.iter().skip(known).map(HistoryEntry::tokens).sum();
            let tokens = inherited.tokens.min(state.growth.tokens() + copied);
            state.growth.noted(tokens);
        }
        *self.state() = state;
    }

    /// Counts the messages that have not been counted yet.
    pub(crate) fn observe(&self, history: &[HistoryEntry]) {
        let mut state = self.state();
        let known = history.partition_point(|entry| entry.message.seq <= state.through);
        for entry in history.iter().skip(known) {
            state.through = entry.message.seq;
            state.growth.observe(&entry.message, entry.tokens());
        }
    }

    /// Returns the number of tokens in the history, if an update is due.
    pub(crate) fn due(&self, limits: &GateLimits) -> Option<u64> {
        let state = self.state();
        state.growth.is_due(limits).then(|| state.growth.tokens())
    }
}
