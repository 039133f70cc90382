//! Watches all memory directories for changes. Uses no CPU while nothing happens.
//!
//! Folders are watched, never files, because a save by renaming replaces the file. When folders are added or removed,
//! the watches are set up again and everything counts as changed, because a new folder was not watched from the start.

use std::collections::BTreeSet;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bethink_memdir::Scope;
use notify::{Config, Event, RecommendedWatcher, RecursiveMode};

use crate::dirty::{Dirty, DirtyPath, Pending, WatchedRoot, take_in};
use crate::limits::{DEBOUNCE, POLL};
use crate::root::{Follow, MemoryRoot};

/// Watches directories until it is dropped.
pub struct Watch {
    shared: Arc<WatchState>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts a watch. `on_change` is called on a separate thread, with a directory's path as passed to [`Self::add`].
    /// Changes during a call are collected for the next call.
    pub fn start(on_change: impl FnMut(&Path, Dirty) + Send + 'static) -> io::Result<Self> {
        Self::start_on(system, on_change)
    }

    pub(crate) fn start_on(
        system: impl FnOnce(Arc<WatchState>) -> notify::Result<System>,
        on_change: impl FnMut(&Path, Dirty) + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(WatchState::default());
        let system = match system(Arc::clone(&shared)) {
            Ok(system) => Some(system),
            Err(error) => {
                tracing::warn!(%error, "could not watch files; scanning memory directories every 2 seconds instead");
                None
            }
        };
        let worker = Worker { shared: Arc::clone(&shared), system, on_change };
        let thread = std::thread::Builder::new().name("memory-watch".to_owned());
        let thread = thread.spawn(move || worker.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Watches a directory, which need not exist if its parent does. Everything in it is reported as changed at first, so that
    /// no change from before the start of the watch is missed. If the directory is added again, its folders are looked up
    /// again.
    pub fn add(&self, path: &Path, scope: Scope, follow: Follow) {
        let mut state = self.shared.lock();
        if let Some(root) = state.roots.iter_mut().find(|root| root.path == path) {
            (root.scope, root.follow) = (scope, follow);
            root.add(DirtyPath::Folder);
        } else {
            let (path, asked) = (path.to_owned(), BTreeSet::new());
            let mut root = WatchedRoot { path, scope, follow, asked, polled: false, pending: None };
            root.add(DirtyPath::Folder);
            state.roots.push(root);
        }
        drop(state);
        self.shared.wake.notify_one();
    }

    pub fn remove(&self, path: &Path) {
        let mut state = self.shared.lock();
        let gone: Vec<WatchedRoot> = state.roots.extract_if(.., |root| root.path == path).collect();
        state.forgotten.extend(gone.into_iter().flat_map(|root| root.asked));
        drop(state);
        self.shared.wake.notify_one();
    }

    /// Returns whether the directory is listed every few seconds, because the system cannot watch all of its folders.
    pub fn is_polled(&self, path: &Path) -> bool {
        self.shared.lock().roots.iter().any(|root| root.path == path && root.polled)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.wake.notify_one();
        // `on_change` may drop the watch, and then its own thread cannot be joined.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("roots", &self.shared.lock().roots).finish()
    }
}

pub(crate) type System = Box<dyn notify::Watcher + Send>;

fn system(shared: Arc<WatchState>) -> notify::Result<System> {
    // Do not follow links: if there is a link to a parent, notify could watch the whole file system.
    let config = Config::default().with_follow_symlinks(false);
    let take = move |event: notify::Result<Event>| shared.take_in(event);
    Ok(Box::new(<RecommendedWatcher as notify::Watcher>::new(take, config)?))
}

#[derive(Debug, Default)]
pub(crate) struct WatchState {
    state: Mutex<WatchRoots>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct WatchRoots {
    roots: Vec<WatchedRoot>,
    /// Paths to stop watching, because their directory was removed.
    forgotten: Vec<PathBuf>,
    stopped: bool,
}

impl WatchRoots {
    fn is_waiting(&self) -> bool {
        self.stopped
            || !self.forgotten.is_empty()
            || self.roots.iter().any(|root| root.pending.is_some())
    }
}

impl WatchState {
    pub(crate) fn take_in(&self, event: notify::Result<Event>) {
        if take_in(&mut self.lock().roots, event) {
            self.wake.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, WatchRoots> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, WatchRoots>,
        most: Option<Duration>,
    ) -> MutexGuard<'a, WatchRoots> {
        match most {
            None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(most) => {
                self.wake.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }
}

struct WatchWork {
    /// The changed directories and their changes when the work was taken.
    changed: Vec<(WatchedRoot, Pending)>,
    forgotten: Vec<PathBuf>,
}

struct Worker<F> {
    shared: Arc<WatchState>,
    system: Option<System>,
    on_change: F,
}

impl<F: FnMut(&Path, Dirty)> Worker<F> {
    fn run(mut self) {
        while let Some(WatchWork { changed, forgotten }) = self.next() {
            let others = self.asked_by_others(Path::new(""));
            for path in forgotten.iter().filter(|path| !others.contains(*path)) {
                self.unwatch(path);
            }
            for (root, pending) in changed {
                if pending.folders {
                    self.watch_anew(&root);
                }
                (self.on_change)(&root.path, pending.dirty);
            }
        }
    }

    /// Waits for work, and a moment longer for related events. Returns `None` when stopped.
    fn next(&self) -> Option<WatchWork> {
        let mut state = self.shared.lock();
        let polled_at = Instant::now() + POLL;
        while !state.is_waiting() {
            let polls = state.roots.iter().any(|root| root.polled);
            let left = polls.then(|| polled_at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                let polled = state.roots.iter_mut().filter(|root| root.polled);
                polled.for_each(|root| root.add(DirtyPath::Everything));
                break;
            }
            state = self.shared.wait(state, left);
        }
        let until = Instant::now() + DEBOUNCE;
        while !state.stopped {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.shared.wait(state, Some(left));
        }
        if state.stopped {
            return None;
        }
        let forgotten = mem::take(&mut state.forgotten);
        let pending = state.roots.iter_mut().filter_map(|root| {
            let pending = root.pending.take()?;
            Some((root.clone(), pending))
        });
        Some(WatchWork { changed: pending.collect(), forgotten })
    }

    /// Watches every folder again, because a folder may have been replaced under the same name. Repeats this until no
    /// new folder is found.
    fn watch_anew(&mut self, root: &WatchedRoot) {
        let others = self.asked_by_others(&root.path);
        for path in &root.asked {
            self.unwatch(path);
        }
        let mut asked = BTreeSet::new();
        let mut all = self.system.is_some();
        for path in root.asked.intersection(&others) {
            self.watch(path);
        }
        while all {
            let found = folders(root);
            let new: Vec<PathBuf> = found.difference(&asked).cloned().collect();
            if new.is_empty() {
                break;
            }
            for path in new {
                all &= self.watch(&path);
                asked.insert(path);
            }
        }
        if !all && !root.polled {
            tracing::warn!(path = %root.path.display(), "the memory directory is scanned every 2 seconds, \
                because the system cannot watch all folders in it (on Linux, raise fs.inotify.max_user_watches)");
        }
        self.keep(root, asked, !all);
    }

    fn asked_by_others(&self, path: &Path) -> BTreeSet<PathBuf> {
        let state = self.shared.lock();
        let others = state.roots.iter().filter(|root| root.path != path);
        others.flat_map(|root| root.asked.iter().cloned()).collect()
    }

    /// Stores a directory's watches. Other directories that share a folder with it are checked, because they may miss
    /// events.
    fn keep(&self, root: &WatchedRoot, asked: BTreeSet<PathBuf>, polled: bool) {
        let mut state = self.shared.lock();
        for other in state.roots.iter_mut().filter(|other| other.path != root.path) {
            if !other.asked.is_disjoint(&asked) || !other.asked.is_disjoint(&root.asked) {
                other.add(DirtyPath::Everything);
            }
        }
        match state.roots.iter_mut().find(|kept| kept.path == root.path) {
            Some(kept) => (kept.asked, kept.polled) = (asked, polled),
            // The directory was removed from the watch in the meantime.
            None => state.forgotten.extend(asked),
        }
    }

    /// Watches a path. Returns `false` if it exists but the system cannot watch it.
    fn watch(&mut self, path: &Path) -> bool {
        let Some(system) = &mut self.system else { return false };
        match system.watch(path, RecursiveMode::NonRecursive) {
            Ok(()) => true,
            Err(error) => matches!(error.kind, notify::ErrorKind::PathNotFound) || !path.exists(),
        }
    }

    /// Stops watching a path. Errors are ignored: the path, and so its watch, may no longer exist.
    fn unwatch(&mut self, path: &Path) {
        if let Some(system) = &mut self.system {
            let _ = system.unwatch(path);
        }
    }
}

/// Returns the directory, its folders, and its parent, which reports when the directory is created or removed.
fn folders(root: &WatchedRoot) -> BTreeSet<PathBuf> {
    let mut found: BTreeSet<PathBuf> = root.path.parent().map(Path::to_owned).into_iter().collect();
    if let Ok(Some(memory)) = MemoryRoot::open(&root.path, root.scope, root.follow) {
        found.insert(root.path.clone());
        let inner = memory.folders().unwrap_or_default();
        found.extend(inner.into_iter().map(|folder| root.path.join(folder)));
    }
    found.retain(|path| path.is_dir());
    found
}

#[cfg(test)]
mod tests;
