//! The service's handle.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bethink_memories::MemoryService;
use bethink_service::{Result, ServiceContext, locked};
use bethink_sessions::SessionEvent;
use bethink_transcript::SessionId;
use tokio::sync::Mutex as AsyncMutex;

/// Shares history with the team. Clones share one state.
#[derive(Clone, Debug)]
pub struct TeamHistoryService {
    pub(crate) cx: ServiceContext,
    pub(crate) memories: MemoryService,
    pub(crate) state: Arc<SharingState>,
}

#[derive(Debug, Default)]
pub(crate) struct SharingState {
    /// Whether this person shares anything. If not, appends cost nothing.
    is_sharing: AtomicBool,
    /// The sessions that are enqueued to be copied.
    pub(crate) queue: Mutex<HashSet<SessionId>>,
    /// Why the newest messages of a session were not copied.
    pub(crate) problems: Mutex<HashMap<SessionId, String>>,
    /// Only one task reads at a time what is shared, so that none overwrites what a later one has read.
    reading: AsyncMutex<()>,
    /// Whether a task of `resume_later` has not yet begun to read what is shared.
    is_waiting: AtomicBool,
}

impl TeamHistoryService {
    pub fn new(cx: ServiceContext, memories: MemoryService) -> Self {
        Self { cx, memories, state: Arc::default() }
    }

    pub fn observe(&self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Appended { handle, .. } => self.copy_soon(handle.id),
            SessionEvent::Imported { session } | SessionEvent::Forked { session } => {
                self.copy_soon(*session);
            }
            // Its job has moved to another daemon.
            SessionEvent::Released { session } => drop(locked(&self.state.queue).remove(session)),
            // Sessions that came from it indirectly may not be shared any more.
            SessionEvent::Deleted { .. } if self.is_sharing() => self.resume_later(),
            SessionEvent::Missed => locked(&self.state.queue).clear(),
            _ => {}
        }
    }

    /// Reads whether this person shares anything, which another daemon may have changed, removes copies of what is not shared any more,
    /// and enqueues what is not copied yet.
    pub async fn resume(&self) -> Result<()> {
        let _alone = self.state.reading.lock().await;
        // This read may miss later changes, so `resume_later` must start another task for them.
        self.state.is_waiting.store(false, Ordering::Release);
        let store = self.cx.store();
        let shared = store.shared_projects().await?;
        self.state.is_sharing.store(!shared.is_empty(), Ordering::Relaxed);
        if shared.is_empty() {
            return Ok(());
        }
        store.withdraw_unshared().await?;
        self.copy_later(shared).await
    }

    /// Calls `resume` in the background. Does nothing if such a task has not begun yet, because it will see all changes up to now.
    pub fn resume_later(&self) {
        if self.state.is_waiting.swap(true, Ordering::AcqRel) {
            return;
        }
        let service = self.clone();
        self.cx.spawn(async move {
            if let Err(error) = service.resume().await {
                tracing::warn!(reason = %error.detail, "could not resume sharing history with the team");
            }
        });
    }

    pub(crate) fn is_sharing(&self) -> bool {
        self.state.is_sharing.load(Ordering::Relaxed)
    }
}
