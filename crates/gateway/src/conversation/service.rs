//! The service handle, and the session events it follows.

use std::sync::Arc;

use bethink_service::ServiceContext;
use bethink_sessions::{SessionEvent, SessionService};

use super::cache::ConversationCache;

/// Maps clients' conversations to sessions. Clones share the same state.
#[derive(Clone, Debug)]
pub struct GatewayService {
    pub(super) cx: ServiceContext,
    pub(super) sessions: SessionService,
    pub(super) cache: Arc<ConversationCache>,
}

impl GatewayService {
    /// Subscribes to session events.
    pub fn new(cx: ServiceContext, sessions: SessionService) -> Self {
        let cache = Arc::new(ConversationCache::default());
        let following = Arc::clone(&cache);
        sessions.listen(Box::new(move |event| observe(&following, event)));
        Self { cx, sessions, cache }
    }

    pub(crate) fn records_everything(&self) -> bool {
        self.cx.recording().records_everything(self.cx.now())
    }
}

fn observe(cache: &ConversationCache, event: &SessionEvent<'_>) {
    match event {
        // The session now has messages that did not come through the gateway.
        SessionEvent::Appended { handle, by_client: true, .. } => cache.forget(handle.id),
        SessionEvent::Decided { session } => cache.edited(*session),
        SessionEvent::Deleted { session } => cache.deleted(*session),
        SessionEvent::Released { session } => cache.forget(*session),
        SessionEvent::Missed => cache.forget_all(),
        _ => {}
    }
}
