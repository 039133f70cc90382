//! One watcher for all directories, and the signals that it sends when one of them changes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use bethink_memdir::Scope;
use bethink_memdir_fs::{Dirty, Follow, Watch};
use bethink_service::locked;
use tokio::sync::Notify;

/// Changes in a directory that the watcher reported since the last read.
#[derive(Debug, Default)]
pub(super) struct DirtySignal {
    dirty: Mutex<Option<Dirty>>,
    pub(super) bell: Notify,
}

impl DirtySignal {
    pub(super) fn ring(&self, new: Dirty) {
        self.put_back(new);
        self.bell.notify_one();
    }

    /// Adds changes without a signal. Used after a failed read, so that the next request tries again.
    pub(super) fn put_back(&self, new: Dirty) {
        let mut dirty = locked(&self.dirty);
        *dirty = Some(match (dirty.take(), new) {
            (Some(Dirty::Files(mut known)), Dirty::Files(new)) => {
                known.extend(new);
                Dirty::Files(known)
            }
            (None, new) => new,
            _ => Dirty::Everything,
        });
    }

    pub(super) fn take(&self) -> Option<Dirty> {
        locked(&self.dirty).take()
    }
}

/// The watcher, which is started when the first directory is added.
#[derive(Debug, Default)]
pub(super) struct Watcher {
    watch: OnceLock<Option<Watch>>,
    bells: Arc<Mutex<Bells>>,
}

type Bells = HashMap<PathBuf, Weak<DirtySignal>>;

impl Watcher {
    /// Watches a directory: signals whenever something in it may have changed, and once at the start. Returns `false`
    /// if the watcher could not be started.
    pub(super) fn add(
        &self,
        dir: &Path,
        scope: Scope,
        follow: Follow,
        woken: &Arc<DirtySignal>,
    ) -> bool {
        locked(&self.bells).insert(dir.to_owned(), Arc::downgrade(woken));
        let Some(watch) = self.watch.get_or_init(|| start(Arc::clone(&self.bells))) else {
            return false;
        };
        watch.add(dir, scope, follow);
        true
    }

    /// Stops watching the directory, unless it has a newer watch.
    pub(super) fn remove(&self, dir: &Path, woken: &Arc<DirtySignal>) {
        let mut bells = locked(&self.bells);
        if bells.get(dir).is_some_and(|bell| bell.as_ptr() == Arc::as_ptr(woken)) {
            bells.remove(dir);
            if let Some(Some(watch)) = self.watch.get() {
                watch.remove(dir);
            }
        }
    }

    /// Whether a directory is polled every few seconds, because the system cannot watch all of its folders.
    pub(super) fn is_polled(&self, dir: &Path) -> bool {
        matches!(self.watch.get(), Some(Some(watch)) if watch.is_polled(dir))
    }
}

fn start(all: Arc<Mutex<Bells>>) -> Option<Watch> {
    let started = Watch::start(move |dir, dirty| {
        let woken = locked(&all).get(dir).and_then(Weak::upgrade);
        if let Some(woken) = woken {
            woken.ring(dirty);
        }
    });
    started
        .inspect_err(|error| tracing::warn!(%error, "could not watch memory directories; they will be scanned on every use instead"))
        .ok()
}
