//! What writes displaced, looked at once more: an editor may have gone on writing into it.

use std::sync::Arc;
use std::time::Duration;

use bethink_memdir_fs::Settled;

use super::Shelf;
use super::refused::{blocking, refused};
use crate::{Daemon, Result};

/// How long a displaced file is watched for what an editor still writes into it.
const SETTLES_AFTER: Duration = Duration::from_secs(2);

impl Daemon {
    /// Looks once more at what was displaced, when no editor writes into it any more.
    pub(super) fn settle_later(&self, shelf: &Arc<Shelf>) {
        let (daemon, shelf, stop) = (self.clone(), Arc::clone(shelf), self.stopping());
        self.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(SETTLES_AFTER) => {}
                () = stop.cancelled() => {}
            }
            if let Err(refusal) = daemon.settle_shelf(&shelf).await {
                tracing::warn!(dir = %shelf.dir.display(), reason = %refusal.detail, "displaced files stay");
            }
        });
    }

    /// Takes in what writes left that were broken off.
    pub(super) async fn sweep(&self, shelf: &Arc<Shelf>) -> Result<()> {
        let (held, now) = (Arc::clone(shelf), self.now());
        let left = blocking(move || {
            let Some(root) = held.root(false)? else { return Ok(Vec::new()) };
            let listing = root.list().map_err(|error| refused(&error))?;
            Ok(root.sweep(&listing, now))
        })
        .await?;
        if self.keep_settled(shelf, left, "was left by a broken-off write").await? {
            self.settle_shelf(shelf).await?;
        }
        Ok(())
    }

    async fn settle_shelf(&self, shelf: &Arc<Shelf>) -> Result<()> {
        let held = Arc::clone(shelf);
        let look = || {
            let held = Arc::clone(&held);
            blocking(move || {
                Ok(held.root(false)?.map(|root| root.settle(SETTLES_AFTER)).unwrap_or_default())
            })
        };
        let late = look().await?;
        if self.keep_settled(shelf, late, "was saved over a newer one").await? {
            self.keep_settled(shelf, look().await?, "was saved over a newer one").await?;
        }
        Ok(())
    }

    /// Once in the store they may go. True when there were any.
    async fn keep_settled(
        &self,
        shelf: &Arc<Shelf>,
        settled: Vec<Settled>,
        note: &str,
    ) -> Result<bool> {
        for settled in &settled {
            self.keep_found(shelf, &settled.file, &settled.content, note).await?;
        }
        if settled.is_empty() {
            return Ok(false);
        }
        let held = Arc::clone(shelf);
        blocking(move || {
            if let Some(root) = held.root(false)? {
                root.release(&settled);
            }
            Ok(true)
        })
        .await
    }
}
