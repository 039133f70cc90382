//! The handle of the gateway's conversations.

use std::sync::Arc;

use bethink_service::ServiceContext;
use bethink_sessions::{SessionEvent, SessionService};

use super::cache::ConversationCache;

/// Conversations of clients that resend everything, as sessions. Clones share them.
#[derive(Clone, Debug)]
pub struct GatewayService {
    pub(super) cx: ServiceContext,
    pub(super) sessions: SessionService,
    pub(super) cache: Arc<ConversationCache>,
}

impl GatewayService {
    /// Follows what happens in sessions from now on.
    pub fn new(cx: ServiceContext, sessions: SessionService) -> Self {
        let cache = Arc::new(ConversationCache::default());
        let following = Arc::clone(&cache);
        sessions.listen(Box::new(move |event| observe(&following, event)));
        Self { cx, sessions, cache }
    }
}

fn observe(cache: &ConversationCache, event: &SessionEvent<'_>) {
    match event {
        // What a client resends through the gateway is no longer all that the session has.
        SessionEvent::Appended { handle, by_client: true, .. } => cache.forget(handle.id),
        SessionEvent::Decided { session } => cache.edited(*session),
        SessionEvent::Deleted { session } => cache.deleted(*session),
        _ => {}
    }
}
