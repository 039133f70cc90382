//! Decides when to extract: after an append that ends a turn. Never waits or fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bethink_sessions::{SessionFeature, SessionHandle};
use bethink_transcript::{Message, Role, SessionId};
use serde_json::json;
use tokio_util::sync::DropGuard;

use crate::service::MemoryService;

pub(super) const EXTRACT: &str = "extract";

/// Whether an extraction of the session is enqueued and has not started. A running extraction covers only the turns
/// that had ended when it started, so another extraction may be enqueued in the meantime.
#[derive(Debug, Default)]
struct ExtractionPending(AtomicBool);

impl SessionFeature for ExtractionPending {}

/// Whether the assistant's turn is over: the message has no tool call.
pub(super) fn ends_turn(message: &Message) -> bool {
    message.role == Role::Assistant && message.tool_uses().next().is_none()
}

impl MemoryService {
    /// Enqueues an extraction if a turn has ended. If a crash loses that extraction, the end of the next turn enqueues
    /// another one, which also covers the same messages, because the session's mark has not moved.
    pub(crate) fn ask_extraction_gate(&self, handle: &SessionHandle, newest: Option<&Message>) {
        if newest.is_some_and(ends_turn) {
            self.ask_for_extraction(handle);
        }
    }

    /// Enqueues an extraction because a turn has ended or the session is over.
    pub fn ask_for_extraction(&self, handle: &SessionHandle) {
        let asked = || handle.feature::<ExtractionPending>().0.swap(true, Ordering::Relaxed);
        if self.cx.settings().memory.extraction == "off" || asked() {
            return;
        }
        self.enqueue_extraction(handle.id, Some(handle.use_guard()));
    }

    /// Enqueues an extraction from a session that was imported.
    pub(crate) fn ask_for_extraction_of_import(&self, session: SessionId) {
        if self.cx.settings().memory.extraction != "off" {
            self.enqueue_extraction(session, None);
        }
    }

    fn enqueue_extraction(&self, id: SessionId, here: Option<Arc<DropGuard>>) {
        let memories = self.clone();
        self.cx.spawn(async move {
            let _hold = here;
            let payload = json!({ "session": id.0 });
            let asked = memories.cx.jobs().enqueue_background(EXTRACT, Some(id), &payload).await;
            if let Err(error) = asked {
                tracing::warn!(session = %id, reason = %error.detail, "could not enqueue an extraction");
                memories.extraction_begun(id);
            }
            memories.cx.jobs().wake();
        });
    }

    pub(super) fn extraction_begun(&self, id: SessionId) {
        if let Some(handle) = self.sessions.open_handle(id) {
            handle.feature::<ExtractionPending>().0.store(false, Ordering::Relaxed);
        }
    }
}
