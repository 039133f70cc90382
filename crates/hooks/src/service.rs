//! The service's handle, and the state that is shared by all sessions.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bethink_config::Home;
use bethink_memories::MemoryService;
use bethink_notes::NotesService;
use bethink_service::ServiceContext;
use bethink_sessions::SessionService;
use bethink_spool::Spool;
use bethink_transfer::TransferService;
use tokio::sync::Mutex as AsyncMutex;

use crate::ready::ReadySessions;

/// Handles the events of coding agents. Clones share the state.
#[derive(Clone, Debug)]
pub struct HookService {
    pub(crate) cx: ServiceContext,
    pub(crate) sessions: SessionService,
    pub(crate) memories: MemoryService,
    pub(crate) notes: NotesService,
    pub(crate) transfer: TransferService,
    pub(crate) inner: Arc<HooksState>,
}

#[derive(Debug)]
pub(crate) struct HooksState {
    pub(crate) spool: Spool,
    /// Held while the spool is emptied, so that its events are handled in order.
    pub(crate) delivering: AsyncMutex<()>,
    /// Whether a check of the spool is scheduled.
    pub(crate) is_looking: AtomicBool,
    pub(crate) ready: ReadySessions,
}

impl HookService {
    pub fn new(
        cx: ServiceContext,
        sessions: SessionService,
        memories: MemoryService,
        notes: NotesService,
        transfer: TransferService,
    ) -> Self {
        let inner = HooksState {
            spool: Spool::at(Home::new(&cx.settings().home).hook_spool()),
            delivering: AsyncMutex::default(),
            is_looking: AtomicBool::new(false),
            ready: ReadySessions::default(),
        };
        Self { cx, sessions, memories, notes, transfer, inner: Arc::new(inner) }
    }
}
