//! The service's handle.

use bethink_memories::MemoryService;
use bethink_service::ServiceContext;

/// Syncs a project's team memory with its remote. Clones share one state.
#[derive(Clone, Debug)]
pub struct TeamService {
    pub(crate) cx: ServiceContext,
    pub(crate) memories: MemoryService,
}

impl TeamService {
    pub fn new(cx: ServiceContext, memories: MemoryService) -> Self {
        Self { cx, memories }
    }
}
