//! The service's handle.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bethink_memories::MemoryService;
use bethink_service::{Result, ServiceContext, locked};
use bethink_sessions::SessionEvent;
use bethink_transcript::SessionId;

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
    /// Why the newest messages for a project of the team were not copied.
    pub(crate) problems: Mutex<HashMap<String, String>>,
}

impl TeamHistoryService {
    pub fn new(cx: ServiceContext, memories: MemoryService) -> Self {
        Self { cx, memories, state: Arc::default() }
    }

    pub fn observe(&self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Appended { handle, .. } => self.copy_soon(handle.id),
            SessionEvent::Imported { session } => self.copy_soon(*session),
            // Its job has moved to another daemon.
            SessionEvent::Released { session } => drop(locked(&self.state.queue).remove(session)),
            SessionEvent::Missed => locked(&self.state.queue).clear(),
            _ => {}
        }
    }

    /// Reads whether this person shares anything, which another daemon may have changed, and enqueues what is not copied yet.
    pub async fn resume(&self) -> Result<()> {
        let shared = self.cx.store().shared_projects().await?;
        self.state.is_sharing.store(!shared.is_empty(), Ordering::Relaxed);
        match shared.is_empty() {
            true => Ok(()),
            false => self.copy_later(None).await,
        }
    }

    pub(crate) fn is_sharing(&self) -> bool {
        self.state.is_sharing.load(Ordering::Relaxed)
    }
}
