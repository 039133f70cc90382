//! How far a session has grown since its notes were written, counted as its messages come.

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
    /// Newest message that is counted, or that notes cover.
    through: Seq,
}

impl SessionFeature for Meter {}

impl Meter {
    pub(crate) fn counted(&self) -> MutexGuard<'_, Counted> {
        locked(&self.0)
    }

    /// Begins anew where the notes stand. Without notes, what lies before the view is taken at the size
    /// that its compaction found.
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

    /// Reads history on, after what is counted.
    pub(crate) fn observe(&self, history: &[HistoryEntry]) {
        let mut counted = self.counted();
        let known = history.partition_point(|entry| entry.message.seq <= counted.through);
        for entry in history.iter().skip(known) {
            counted.through = entry.message.seq;
            counted.growth.observe(&entry.message, entry.tokens());
        }
    }

    /// The tokens of history, where notes are due.
    pub(crate) fn due(&self, limits: &GateLimits) -> Option<u64> {
        let counted = self.counted();
        counted.growth.is_due(limits).then(|| counted.growth.tokens())
    }
}
