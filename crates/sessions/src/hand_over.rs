//! Sessions move between the daemons that use a database: this daemon takes one before it uses it, and releases it when another
//! daemon wants it.

use std::sync::Arc;
use std::time::Duration;

use bethink_service::Result;
use bethink_store::{SessionChange, SessionRecord, StoreError, StoreFuture, StoreResult};
use bethink_transcript::SessionId;
use tokio::time::timeout;

use crate::handle::{LeavingSession, SessionHandle};
use crate::service::{SessionEvent, SessionService};

/// How long to wait for requests that use a session before it is released. After this time, what they want to write is
/// refused. The other daemon would not wait much longer.
const MAX_WAIT: Duration = Duration::from_secs(8);
/// How often a write takes the session back from other daemons that also want it.
pub(crate) const TAKE_TRIES: usize = 3;

impl SessionService {
    /// Makes the session this daemon's, until another daemon wants it and no request uses its handle. Does nothing if only
    /// one daemon can use the database.
    pub(crate) async fn take(&self, id: SessionId) -> StoreResult<()> {
        if self.cx.store().is_shared() {
            self.cx.store().take_session(id).await?;
            // Its jobs move with it.
            self.cx.jobs().wake();
        }
        Ok(())
    }

    /// Takes a session that this daemon had lost, after dropping what is in memory about it.
    pub(crate) async fn take_back(&self, id: SessionId) -> StoreResult<Arc<SessionHandle>> {
        self.release(id);
        // If requests use the old state for longer, entering fails.
        drop(timeout(MAX_WAIT, self.inner.registry.left(id)).await);
        let handle = self.inner.registry.enter(id).await?;
        self.take(id).await?;
        Ok(handle)
    }

    /// Runs a write, and takes the session back if another daemon has taken it.
    pub async fn retry_after_take<'a, T>(
        &self,
        id: SessionId,
        write: impl Fn() -> StoreFuture<'a, T>,
    ) -> StoreResult<T> {
        for _ in 0..TAKE_TRIES {
            match write().await {
                Err(StoreError::Moved { .. }) => drop(self.take_back(id).await?),
                written => return written,
            }
        }
        write().await
    }

    /// Keeps other daemons from taking the session until the handle is dropped, but not longer than [`MAX_WAIT`] after they asked.
    /// Returns `None` if only one daemon can use the database.
    pub async fn hold_session(&self, id: SessionId) -> Result<Option<Arc<SessionHandle>>> {
        match self.cx.store().is_shared() {
            true => self.handle(id).await.map(Some),
            false => Ok(None),
        }
    }

    /// Changes the session's record, after taking the session.
    pub async fn update(&self, id: SessionId, change: SessionChange) -> Result<SessionRecord> {
        let _handle = self.hold_session(id).await?;
        Ok(self.cx.store().update_session(id, change).await?)
    }

    /// Releases the session for another daemon, once the requests that use it have ended.
    pub fn release(&self, id: SessionId) {
        self.release_after(id, MAX_WAIT);
    }

    fn release_after(&self, id: SessionId, wait: Duration) {
        if let Some(leaving) = self.inner.registry.leave(id) {
            let sessions = self.clone();
            self.cx.spawn(async move { sessions.leave(leaving, wait).await });
        }
    }

    async fn leave(&self, leaving: LeavingSession, wait: Duration) {
        let id = leaving.id;
        drop(timeout(wait, leaving.unused()).await);
        leaving.end_use();
        if let Err(error) = self.cx.store().release_session(id).await {
            tracing::warn!(session = %id, %error, "could not release a session; the other daemon will take it");
        }
        // The state must be gone before this daemon can have the session again.
        leaving.unused().await;
        self.tell(&SessionEvent::Released { session: id });
    }

    /// Releases all sessions in memory, because any of them may have been taken by another daemon.
    pub fn release_all(&self) {
        self.tell(&SessionEvent::Missed);
        self.inner.registry.ids().into_iter().for_each(|id| self.release(id));
    }
}

#[cfg(test)]
mod tests {
    use bethink_config::Settings;
    use bethink_service::ErrorKind;

    use super::*;
    use crate::tests::home::SessionsHome;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_released_session_is_not_loaded_twice() {
        let directory = tempfile::tempdir().unwrap();
        let home = SessionsHome::open(Settings::at(directory.path())).await;
        let id = home.session(&[]).await;
        let sessions = home.sessions.clone();
        let used = sessions.handle(id).await.unwrap();
        sessions.release_after(id, Duration::from_millis(300));
        let within = sessions.handle(id).await.unwrap();
        assert!(Arc::ptr_eq(&used, &within), "a request within the request uses the same state");
        drop(within);
        let ended = timeout(Duration::from_secs(1), sessions.inner.registry.left(id)).await;
        assert!(ended.is_err(), "the state is in use");
        let refused = sessions.handle(id).await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Conflict, "{refused}");
        let refused = sessions.lock(&used).await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Conflict, "{refused}");
        let old = Arc::downgrade(&used);
        drop(used);
        let next = timeout(Duration::from_secs(10), sessions.handle(id)).await.unwrap().unwrap();
        assert!(old.upgrade().is_none());
        drop(sessions.lock(&next).await.unwrap());
        sessions.release_all();
        drop((next, sessions));
        home.close().await;
    }
}
