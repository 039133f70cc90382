//! One memory directory as it was last seen. A watcher says when to look again.

mod look;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use bethink_memdir::{Hash, Header, Name, Scope};
use bethink_memdir_fs::{Content, Dirty, File, Follow, MemoryRoot, Seen, Strange};
use bethink_transcript::UnixMicros;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard};

use super::refused::{blocking, refused, text_of};
use super::watch::{Watcher, Woken};
use crate::clock::Clock;
use crate::{Daemon, Result};

/// Files that can be written at the same time; writers share the disk anyway.
const LANES: usize = 16;
/// How long a prompt waits for a directory that does not answer, such as one on a mount that is gone.
const PATIENCE: Duration = Duration::from_millis(300);

/// A topic as it was last read, without its text.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(crate) name: Name,
    pub(crate) hash: Hash,
    pub(crate) bytes: u64,
    pub(crate) modified: UnixMicros,
    pub(crate) header: Header,
}

/// MEMORY.md as it was last read.
#[derive(Clone, Debug)]
pub(crate) struct IndexFile {
    pub(crate) text: String,
    pub(crate) hash: Hash,
}

/// A directory as it was last seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) topics: BTreeMap<Name, Arc<Topic>>,
    pub(crate) index: Option<Arc<IndexFile>>,
    /// What looks like a memory and is none.
    pub(crate) strange: Vec<Strange>,
    /// Why the directory could not be looked at; what is shown is older then.
    pub(crate) fault: Option<String>,
    /// Counts the changes.
    pub(crate) revision: u64,
}

/// A directory with its root, picture and watcher.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) scope: Scope,
    pub(crate) dir: PathBuf,
    /// Its name in the store: project and scope.
    pub(crate) key: String,
    /// One writer of ours to a file at a time, so that its versions are in order.
    turns: [AsyncMutex<()>; LANES],
    held: Mutex<Held>,
    shown: RwLock<Arc<Snapshot>>,
    follow: Follow,
    woken: Arc<Woken>,
    watcher: Arc<Watcher>,
    /// Rings when something changes.
    watched: bool,
    /// Somebody looks again whenever it rings.
    followed: AtomicBool,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct Held {
    root: Option<Arc<MemoryRoot>>,
    /// Each file as it was when it was last read.
    seen: BTreeMap<File, Seen>,
}

impl Shelf {
    pub(super) fn new(
        (scope, dir, follow): (Scope, PathBuf, Follow),
        key: String,
        watcher: Arc<Watcher>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let woken = Arc::default();
        Self {
            watched: watcher.add(&dir, scope, follow, &woken),
            scope,
            dir,
            key,
            turns: Default::default(),
            held: Mutex::default(),
            shown: RwLock::default(),
            follow,
            woken,
            watcher,
            followed: AtomicBool::new(false),
            clock,
        }
    }

    /// The directory as it is now, as far as the watcher knows.
    pub(crate) async fn snapshot(self: &Arc<Self>, daemon: &Daemon) -> Result<Arc<Snapshot>> {
        let shelf = Arc::clone(self);
        let shown = blocking(move || Ok(shelf.look())).await?;
        if !self.followed.swap(true, Ordering::Relaxed) {
            self.follow(daemon);
        }
        Ok(shown)
    }

    /// The directory as it is now, looked at file by file: a person who has just saved one does not wait for
    /// the watcher.
    pub(crate) async fn snapshot_anew(self: &Arc<Self>, daemon: &Daemon) -> Result<Arc<Snapshot>> {
        self.woken.put_back(Dirty::Everything);
        self.snapshot(daemon).await
    }

    /// The same for a prompt, which waits for no disk that hangs: what was seen last, then.
    pub(crate) async fn snapshot_soon(self: &Arc<Self>, daemon: &Daemon) -> Arc<Snapshot> {
        match tokio::time::timeout(PATIENCE, self.snapshot(daemon)).await {
            Ok(Ok(shown)) => shown,
            Ok(Err(_)) | Err(_) => self.shown(),
        }
    }

    pub(crate) fn shown(&self) -> Arc<Snapshot> {
        Arc::clone(&self.shown.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A topic's text and hash, from the disk.
    pub(crate) async fn read(
        self: &Arc<Self>,
        _: &Daemon,
        name: &Name,
    ) -> Result<Option<(String, Hash)>> {
        self.read_text(&File::Topic(name.clone())).await
    }

    /// The same for any file.
    pub(super) async fn read_text(self: &Arc<Self>, file: &File) -> Result<Option<(String, Hash)>> {
        let content = self.read_file(file).await?;
        content.map(|content| text_of(file, content)).transpose()
    }

    /// Texts of topics as they are now; those that are gone or can't be read are left out. Blocks.
    pub(crate) fn read_each(&self, names: &[Name]) -> Vec<(Name, String, Hash)> {
        let Ok(Some(root)) = self.root(false) else { return Vec::new() };
        let read = |name: &Name| {
            let file = File::Topic(name.clone());
            let (text, hash) = text_of(&file, root.read(&file).ok().flatten()?).ok()?;
            Some((name.clone(), text, hash))
        };
        names.iter().filter_map(read).collect()
    }

    pub(crate) async fn read_file(self: &Arc<Self>, file: &File) -> Result<Option<Content>> {
        let (shelf, file) = (Arc::clone(self), file.clone());
        blocking(move || {
            let Some(root) = shelf.root(false)? else { return Ok(None) };
            root.read(&file).map_err(|error| refused(&error))
        })
        .await
    }

    /// Waits for those who write the same file.
    pub(super) async fn turn(&self, file: &File) -> AsyncMutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        file.hash(&mut hasher);
        let lane = usize::try_from(hasher.finish() % LANES as u64).unwrap_or(0);
        self.turns[lane].lock().await
    }

    /// The directory's root, made if asked for.
    pub(crate) fn root(&self, make: bool) -> Result<Option<Arc<MemoryRoot>>> {
        let mut held = self.held();
        self.open(&mut held, make)?;
        Ok(held.root.clone())
    }

    /// The next look is at everything, for who must not miss what was saved a moment ago.
    pub(crate) fn doubt(&self) {
        self.woken.put_back(Dirty::Everything);
    }

    /// Says that files were changed by us, sooner than the watcher.
    pub(super) fn touched(&self, file: &File) {
        self.woken.ring(Dirty::Files(BTreeSet::from([file.clone()])));
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is looked through every few seconds, for want of the system's watches.
    pub(crate) fn is_polled(&self) -> bool {
        !self.watched || self.watcher.is_polled(&self.dir)
    }

    /// Looks again whenever the watcher rings, for as long as the shelf is in use; first at what a daemon
    /// before this one left behind.
    fn follow(self: &Arc<Self>, daemon: &Daemon) {
        let (shelf, woken) = (Arc::downgrade(self), Arc::clone(&self.woken));
        let (daemon, stop) = (daemon.clone(), daemon.stopping());
        daemon.clone().spawn(async move {
            if let Some(shelf) = shelf.upgrade()
                && let Err(refusal) = daemon.sweep(&shelf).await
            {
                tracing::warn!(dir = %shelf.dir.display(), reason = %refusal.detail, "leftovers stay");
            }
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = woken.bell.notified() => {}
                }
                let Some(shelf) = shelf.upgrade() else { return };
                if woken.is_dirty()
                    && let Err(refusal) = shelf.snapshot(&daemon).await
                {
                    tracing::warn!(dir = %shelf.dir.display(), reason = %refusal.detail, "memory not looked at");
                }
            }
        });
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.watcher.remove(&self.dir, &self.woken);
        // Who follows it ends.
        self.woken.bell.notify_one();
    }
}
