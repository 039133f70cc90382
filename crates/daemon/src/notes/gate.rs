//! When to write notes: asked after each message of the assistant, answered from counts at hand.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bethink_session_memory::{Growth, Profile};
use bethink_store::{Compaction, NewJob, Notes};
use bethink_transcript::{Message, Role, Seq, SessionId};
use serde_json::json;

use super::NOTES;
use crate::hot::{HotSession, Slot};
use crate::{Daemon, Result, jobs};

/// How far a session has grown, shared by its slot and its hot state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(Arc<Mutex<Counted>>);

#[derive(Debug, Default)]
struct Counted {
    growth: Growth,
    /// Newest message that is counted, or that notes cover.
    through: Seq,
}

impl Meter {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins anew where the notes stand. Without notes, what lies before the view is taken at the size
    /// that its compaction found.
    pub(crate) fn begin(&self, notes: Option<&Notes>, compaction: Option<&Compaction>) {
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

    pub(crate) fn observe(&self, message: &Message, tokens: u64) {
        let mut counted = self.counted();
        if message.seq > counted.through {
            counted.through = message.seq;
            counted.growth.observe(message, tokens);
        }
    }

    pub(crate) fn noted(&self, tokens: u64) {
        self.counted().growth.noted(tokens);
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.counted().growth.tokens()
    }
}

impl Daemon {
    /// Leaves an update to the worker if one is due. Neither waits nor fails: the next message of the
    /// assistant asks again.
    pub(crate) fn ask_notes_gate(&self, slot: &Slot, hot: &HotSession) {
        let newest = hot.history.entries().last();
        let settings = &self.settings().session_memory;
        let ended = newest.is_some_and(|entry| entry.message.role == Role::Assistant);
        if !settings.enabled || !ended {
            return;
        }
        let profile = Profile::named(&settings.profile).unwrap_or_default();
        let (due, tokens) = {
            let counted = slot.meter.counted();
            (counted.growth.is_due(&profile.limits()), counted.growth.tokens())
        };
        let id = slot.id;
        if !due || !self.notes_desk().flights.enter(id) {
            return;
        }
        let (daemon, through) = (self.clone(), hot.session.last_seq);
        self.spawn(async move {
            if let Err(refusal) = daemon.note_later(id, through, tokens).await {
                tracing::warn!(session = %id, reason = %refusal.detail, "notes could not be asked for");
                daemon.notes_desk().flights.leave(id);
            }
            daemon.wake_worker();
        });
    }

    async fn note_later(&self, id: SessionId, through: Seq, tokens: u64) -> Result<()> {
        let new = NewJob {
            id: jobs::new_id(),
            kind: NOTES.to_owned(),
            session: Some(id),
            payload: json!({ "session": id.0, "through": through, "tokens": tokens }).to_string(),
            background: true,
            created_at: self.now(),
        };
        Ok(self.store().enqueue(new).await?)
    }
}
