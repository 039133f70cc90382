//! Keeps the known state of a memory directory up to date, beginning with the first request.

use std::sync::Arc;
use std::time::Duration;

use bethink_memdir::Scope;
use bethink_service::{Result, ServiceError, blocking};
use tokio::time::sleep;

use crate::directory::{DirectorySnapshot, MemoryDirectory};
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// How long a prompt waits for a directory that does not respond, for example on a lost mount.
const PATIENCE: Duration = Duration::from_millis(300);

/// How long after a failed sync it is tried again, unless something changes before.
const RETRY: Duration = Duration::from_secs(5);

impl MemoryService {
    /// Returns the directory's current state, as far as the watcher knows.
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

    /// Returns the directory's current state, read file by file, for a person who has just saved a file and should not
    /// have to wait for the watcher.
    pub(crate) async fn snapshot_anew(
        &self,
        directory: &Arc<MemoryDirectory>,
    ) -> Result<Arc<DirectorySnapshot>> {
        directory.doubt();
        self.snapshot(directory).await
    }

    /// Returns the current states of a project's directories, in the order of [`Scope::ALL`].
    pub(crate) async fn snapshots(
        &self,
        project: &Arc<MemoryProject>,
    ) -> Result<[Arc<DirectorySnapshot>; 3]> {
        let looking = Arc::clone(project);
        // The team's directory is last, because it may be on a mount that does not respond.
        let scopes = [Scope::Private, Scope::Person, Scope::Team];
        let look = move || {
            scopes.iter().for_each(|scope| drop(looking.directory(*scope).look()));
            Ok(())
        };
        blocking(look).await?;
        for scope in scopes {
            let directory = project.directory(scope);
            if directory.begins_to_be_followed() {
                self.follow(directory);
            }
        }
        Ok(project.shown())
    }

    /// Like [`Self::snapshots`], but for a prompt: if a disk hangs, returns the last snapshots.
    pub async fn snapshots_soon(
        &self,
        project: &Arc<MemoryProject>,
    ) -> [Arc<DirectorySnapshot>; 3] {
        match tokio::time::timeout(PATIENCE, self.snapshots(project)).await {
            Ok(Ok(shown)) => shown,
            Ok(Err(_)) | Err(_) => project.shown(),
        }
    }

    /// Looks for damage and cleans up after an earlier daemon. Then, while the directory is in use, reads it and
    /// updates its index and syncs it after each change.
    fn follow(&self, directory: &Arc<MemoryDirectory>) {
        let (memories, stop) = (self.clone(), self.cx.stopping().clone());
        let (directory, woken) = (Arc::downgrade(directory), Arc::clone(directory.woken()));
        self.cx.spawn(async move {
            let (mut known, mut is_synced) = (Arc::default(), true);
            if let Some(directory) = directory.upgrade() {
                if let Err(error) = memories.find_damage(&directory).await {
                    tracing::warn!(dir = %directory.dir.display(), reason = %error.detail, "could not look for damaged memories");
                }
                if let Err(error) = memories.sweep(&directory).await {
                    tracing::warn!(dir = %directory.dir.display(), reason = %error.detail, "could not clean up after interrupted writes");
                }
                if let Err(error) = memories.follow_versions(&directory).await {
                    tracing::warn!(dir = %directory.dir.display(), reason = %error.detail, "could not update the index");
                }
                is_synced = memories.sync(&directory).await;
                known = directory.shown();
            }
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = woken.bell.notified() => {}
                    () = sleep(RETRY), if !is_synced => {}
                }
                let Some(directory) = directory.upgrade() else { return };
                let followed = async {
                    let shown = memories.snapshot(&directory).await?;
                    memories.follow_edits(&directory, &known, &shown).await?;
                    Ok::<_, ServiceError>(shown)
                };
                let followed = followed.await;
                is_synced = memories.sync(&directory).await;
                match followed {
                    Ok(shown) => known = shown,
                    Err(error) => {
                        tracing::warn!(dir = %directory.dir.display(), reason = %error.detail, "could not check the memory directory");
                    }
                }
            }
        });
    }
}
