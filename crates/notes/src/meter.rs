//! Counts how far a session has grown since its notes were written.

use std::sync::{Mutex, MutexGuard};

use bethink_context::HistoryEntry;
use bethink_service::locked;
use bethink_session_memory::{GateLimits, Growth};
use bethink_sessions::SessionFeature;
use bethink_store::{CompactionRecord, NotesRecord};
use bethink_transcript::Seq;

#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<Counted>);

#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) growth: Growth,
    /// The newest message that is counted or that the notes cover.
    through: Seq,
}

impl SessionFeature for Meter {}

impl Meter {
    pub(crate) fn counted(&self) -> MutexGuard<'_, Counted> {
        locked(&self.0)
    }

    /// Restarts from the notes. Without notes, messages before the view count as many tokens as their
    /// compaction measured.
    pub(crate) fn begin(&self, notes: Option<&NotesRecord>, compaction: Option<&CompactionRecord>) {
        let mut counted = self.counted();
        *counted = match (notes, compaction) {
            (Some(notes), _) => Counted {
                growth: Growth::from(notes.tokens, notes.through > Seq::ZERO),
                through: notes.through,
            },
            (None, Some(compaction)) => Counted {
                growth: Growth::from(compaction.tokens_before, false),
                through: compaction.made_after,
            },
            (None, None) => Counted::default(),
        };
    }

    /// Counts the messages that are not counted yet.
    pub(crate) fn observe(&self, history: &[HistoryEntry]) {
        let mut counted = self.counted();
        let known = history.partition_point(|entry| entry.message.seq <= counted.through);
        for entry in history.iter().skip(known) {
            counted.through = entry.message.seq;
            counted.growth.observe(&entry.message, entry.tokens());
        }
    }

    /// The tokens of history, if an update is due.
    pub(crate) fn due(&self, limits: &GateLimits) -> Option<u64> {
        let counted = self.counted();
        counted.growth.is_due(limits).then(|| counted.growth.tokens())
    }
}
