//! A directory's consolidation lock, which also works between daemons with different homes or on different machines.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bethink_memdir_fs::{Holder, LockOutcome, MemoryRoot};
use bethink_service::{Result, ServiceError, blocking, rfc3339};

use crate::refused::refused;
use crate::service::MemoryService;

/// The lock may be taken over if its holder has not renewed it for this long.
pub(super) const STALE: Duration = Duration::from_secs(3_600);
/// How often the lock is renewed: often enough that a late renewal does no harm.
const BEAT: Duration = Duration::from_secs(60);
/// Pause between attempts to unlock. Another process may hold the lock file open for microseconds.
const UNLOCK_WAIT: Duration = Duration::from_millis(5);
const UNLOCK_TRIES: usize = 200;

impl MemoryService {
    /// Runs `work` while holding the lock, and stops it if another daemon takes over the lock.
    pub(super) async fn alone_in<T>(
        &self,
        root: Arc<MemoryRoot>,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let name = self.dreamer().await?;
        self.lock_memory(&root, &name).await?;
        let done = tokio::select! {
            done = work => done,
            lost = self.keep_memory_locked(&root, &name) => Err(lost),
        };
        if let Err(error) = self.unlock_memory(root, name).await {
            tracing::warn!(reason = %error.detail, "the consolidation lock was not released; it expires in an hour");
        }
        done
    }

    async fn lock_memory(&self, root: &Arc<MemoryRoot>, name: &str) -> Result<()> {
        let (root, name, now) = (Arc::clone(root), name.to_owned(), self.cx.now());
        let locked = blocking(move || root.lock(&name, now, STALE).map_err(refused));
        match locked.await? {
            LockOutcome::Ours { after } => {
                if let Some(Holder { owner: holder, .. }) = after {
                    tracing::warn!(
                        holder,
                        "took over the consolidation lock: its holder has been silent for an hour"
                    );
                }
                Ok(())
            }
            LockOutcome::Held(holder) => {
                let heard = rfc3339(holder.heard);
                let detail =
                    format!("another daemon is consolidating this memory (last seen: {heard})");
                Err(ServiceError::conflict(detail).hint("try again later"))
            }
        }
    }

    /// Renews the lock. Returns only if the lock is lost or could not be renewed.
    async fn keep_memory_locked(&self, root: &Arc<MemoryRoot>, name: &str) -> ServiceError {
        loop {
            tokio::time::sleep(BEAT).await;
            let (root, name, now) = (Arc::clone(root), name.to_owned(), self.cx.now());
            let kept = blocking(move || root.keep_lock(&name, now).map_err(refused));
            match kept.await {
                Ok(true) => {}
                Ok(false) => {
                    return ServiceError::conflict(
                        "another daemon took over the consolidation lock",
                    );
                }
                Err(error) => return error,
            }
        }
    }

    async fn unlock_memory(&self, root: Arc<MemoryRoot>, name: String) -> Result<()> {
        for _ in 0..UNLOCK_TRIES {
            let (root, name) = (Arc::clone(&root), name.clone());
            if blocking(move || root.unlock(&name).map_err(refused)).await? {
                return Ok(());
            }
            tokio::time::sleep(UNLOCK_WAIT).await;
        }
        Err(ServiceError::conflict(
            "could not release the consolidation lock: another process is using its file",
        ))
    }

    /// Returns the name under which this home's daemon holds locks. The name stays the same after a crash, so that the
    /// restarted daemon gets the lock at once.
    async fn dreamer(&self) -> Result<String> {
        let candidate = format!("bethink-{}", uuid::Uuid::new_v4().simple());
        Ok(self.cx.store().lock_name(candidate).await?)
    }
}
