//! When to look: after an append that ends a turn. Neither waits nor fails.

use std::sync::atomic::{AtomicBool, Ordering};

use bethink_store::NewJob;
use bethink_transcript::{Message, Role, SessionId};
use serde_json::json;

use super::EXTRACT;
use crate::hot::Slot;
use crate::{Daemon, Result, jobs};

/// Whether a session's extraction is asked for and not begun yet. One that is under way looks no further than
/// the turn that it began with, so another may wait behind it.
#[derive(Debug, Default)]
pub(crate) struct Extracting(AtomicBool);

impl Extracting {
    fn ask(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn begun(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The assistant said its last word of a turn: nothing is called any more.
pub(super) fn ends_turn(message: &Message) -> bool {
    message.role == Role::Assistant && message.tool_uses().next().is_none()
}

impl Daemon {
    pub(crate) fn extracts_by_model(&self) -> bool {
        self.settings().model.is_on() && self.settings().memory.extraction == "model"
    }

    /// Leaves an extraction to the worker where a turn ended. What is lost in a crash is asked for at the end of the
    /// next turn: the session's mark has not moved.
    pub(crate) fn ask_extraction_gate(&self, slot: &Slot, newest: Option<&Message>) {
        if newest.is_some_and(ends_turn) {
            self.ask_for_extraction(slot);
        }
    }

    /// Leaves an extraction to the worker: a turn ended, or nothing will follow.
    pub(crate) fn ask_for_extraction(&self, slot: &Slot) {
        if self.settings().memory.extraction == "off" || !slot.extracting.ask() {
            return;
        }
        let (daemon, id) = (self.clone(), slot.id);
        self.spawn(async move {
            if let Err(refusal) = daemon.extract_later(id).await {
                tracing::warn!(session = %id, reason = %refusal.detail, "no extraction could be asked for");
                daemon.extraction_begun(id);
            }
            daemon.wake_worker();
        });
    }

    pub(super) fn extraction_begun(&self, id: SessionId) {
        if let Some(slot) = self.registry().get(id) {
            slot.extracting.begun();
        }
    }

    async fn extract_later(&self, id: SessionId) -> Result<()> {
        let new = NewJob {
            id: jobs::new_id(),
            kind: EXTRACT.to_owned(),
            session: Some(id),
            payload: json!({ "session": id.0 }).to_string(),
            background: true,
            created_at: self.now(),
        };
        Ok(self.store().enqueue(new).await?)
    }
}
