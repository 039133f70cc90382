//! Sessions move between the daemons that use a database: this daemon takes one before it uses it, and gives it up when another
//! daemon wants it.

use std::time::Duration;

use bethink_service::Result;
use bethink_store::{SessionChange, SessionRecord, StoreResult};
use bethink_transcript::SessionId;
use tokio::time::timeout;

use crate::service::{SessionEvent, SessionService};

/// How long to wait for requests that use a session before it is given up. After this time, what they want to write is
/// refused. The other daemon would not wait much longer.
const MAX_WAIT: Duration = Duration::from_secs(8);

impl SessionService {
    /// Makes the session this daemon's, until nothing uses its handle any more and another daemon wants it. Does nothing if only
    /// one daemon uses the database.
    pub(crate) async fn take(&self, id: SessionId) -> StoreResult<()> {
        self.cx.store().take_session(id).await?;
        if self.cx.store().is_shared() {
            // Its jobs move with it.
            self.cx.jobs().wake();
        }
        Ok(())
    }

    /// Changes the session's record, after taking the session.
    pub async fn update(&self, id: SessionId, change: SessionChange) -> Result<SessionRecord> {
        // While the handle is used, this daemon does not give the session up.
        let _handle = self.handle(id).await?;
        Ok(self.cx.store().update_session(id, change).await?)
    }

    /// Gives the session up to another daemon, once the requests that use it have ended.
    pub async fn give_up(&self, id: SessionId) {
        let Some(leaving) = self.inner.registry.leave(id) else { return };
        drop(timeout(MAX_WAIT, leaving.unused()).await);
        if let Err(error) = self.cx.store().give_up_session(id).await {
            tracing::warn!(session = %id, %error, "could not give up a session; the other daemon will take it");
        }
        // The state must be gone before this daemon can have the session again.
        leaving.unused().await;
        self.tell(&SessionEvent::GivenUp { session: id });
    }

    /// Gives up all sessions in memory, because any of them may have been taken by another daemon.
    pub fn give_up_all(&self) {
        for id in self.inner.registry.ids() {
            let sessions = self.clone();
            self.cx.spawn(async move { sessions.give_up(id).await });
        }
    }
}
