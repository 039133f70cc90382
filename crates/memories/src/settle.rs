//! Checks replaced files again later, because an editor may still be writing to them.

use std::sync::Arc;

use bethink_memdir_fs::RescuedFile;
use bethink_memdir_fs::limits::GRACE;
use bethink_service::{Result, blocking};

use crate::directory::MemoryDirectory;
use crate::refused::refused;
use crate::service::MemoryService;

impl MemoryService {
    /// Checks replaced files after [`GRACE`].
    pub(super) fn settle_later(&self, directory: &Arc<MemoryDirectory>) {
        let (memories, directory, stop) =
            (self.clone(), Arc::clone(directory), self.cx.stopping().clone());
        self.cx.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(GRACE) => {}
                () = stop.cancelled() => {}
            }
            if let Err(error) = memories.settle_directory(&directory).await {
                tracing::warn!(dir = %directory.dir.display(), reason = %error.detail, "could not clean up replaced files");
            }
        });
    }

    /// Cleans up after interrupted writes.
    pub(super) async fn sweep(&self, directory: &Arc<MemoryDirectory>) -> Result<()> {
        let (held, now) = (Arc::clone(directory), self.cx.now());
        let left = blocking(move || {
            let Some(root) = held.root(false)? else { return Ok(Vec::new()) };
            let listing = root.list().map_err(refused)?;
            Ok(root.sweep(&listing, now))
        })
        .await?;
        if self.keep_settled(directory, left, "was left by an interrupted write").await? {
            self.settle_directory(directory).await?;
        }
        Ok(())
    }

    async fn settle_directory(&self, directory: &Arc<MemoryDirectory>) -> Result<()> {
        for _ in 0..2 {
            let held = Arc::clone(directory);
            let late = blocking(move || {
                Ok(held.root(false)?.map(|root| root.settle(GRACE)).unwrap_or_default())
            });
            if !self.keep_settled(directory, late.await?, "was saved over a newer version").await? {
                break;
            }
        }
        Ok(())
    }

    /// Stores these files as versions, then deletes them. Returns whether there were any files.
    async fn keep_settled(
        &self,
        directory: &Arc<MemoryDirectory>,
        settled: Vec<RescuedFile>,
        note: &str,
    ) -> Result<bool> {
        for settled in &settled {
            self.keep_found(directory, &settled.file, &settled.content, note).await?;
        }
        if settled.is_empty() {
            return Ok(false);
        }
        let held = Arc::clone(directory);
        blocking(move || {
            if let Some(root) = held.root(false)? {
                root.release(&settled);
            }
            Ok(true)
        })
        .await
    }
}
