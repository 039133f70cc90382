//! A memory directory as it is now. It is followed from the first request on.

use std::sync::Arc;
use std::time::Duration;

use bethink_service::{Result, blocking};

use crate::directory::{DirectorySnapshot, MemoryDirectory};
use crate::service::MemoryService;

/// How long a prompt waits for a directory that does not respond, for example on a mount that is gone.
const PATIENCE: Duration = Duration::from_millis(300);

impl MemoryService {
    /// The directory as it is now, as far as the watcher knows.
    pub async fn snapshot(
        &self,
        directory: &Arc<MemoryDirectory>,
    ) -> Result<Arc<DirectorySnapshot>> {
        let looking = Arc::clone(directory);
        let shown = blocking(move || Ok(looking.look())).await?;
        if directory.begins_to_be_followed() {
            self.follow(directory);
        }
        Ok(shown)
    }

    /// The directory as it is now, read file by file, for a person who has just saved a file and should not
    /// wait for the watcher.
    pub(crate) async fn snapshot_anew(
        &self,
        directory: &Arc<MemoryDirectory>,
    ) -> Result<Arc<DirectorySnapshot>> {
        directory.doubt();
        self.snapshot(directory).await
    }

    /// The same for a prompt, which uses the last snapshot rather than wait for a disk that hangs.
    pub async fn snapshot_soon(&self, directory: &Arc<MemoryDirectory>) -> Arc<DirectorySnapshot> {
        match tokio::time::timeout(PATIENCE, self.snapshot(directory)).await {
            Ok(Ok(shown)) => shown,
            Ok(Err(_)) | Err(_) => directory.shown(),
        }
    }

    /// Reads the directory again at each signal of the watcher while the directory is in use, and first cleans
    /// up after an earlier daemon.
    fn follow(&self, directory: &Arc<MemoryDirectory>) {
        let (memories, stop) = (self.clone(), self.cx.stopping().clone());
        let (directory, woken) = (Arc::downgrade(directory), Arc::clone(directory.woken()));
        self.cx.spawn(async move {
            if let Some(directory) = directory.upgrade()
                && let Err(error) = memories.sweep(&directory).await
            {
                tracing::warn!(dir = %directory.dir.display(), reason = %error.detail, "could not clean up after interrupted writes");
            }
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = woken.bell.notified() => {}
                }
                let Some(directory) = directory.upgrade() else { return };
                if woken.is_dirty()
                    && let Err(error) = memories.snapshot(&directory).await
                {
                    tracing::warn!(dir = %directory.dir.display(), reason = %error.detail, "could not check the memory directory");
                }
            }
        });
    }
}
