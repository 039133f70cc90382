//! One watcher for all directories, and who is told of each.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use bethink_memdir::Scope;
use bethink_memdir_fs::{Dirty, Follow, Watch};
use bethink_service::locked;
use tokio::sync::Notify;

/// What the watcher said of a directory since it was last asked.
#[derive(Debug, Default)]
pub(super) struct Woken {
    dirty: Mutex<Option<Dirty>>,
    pub(super) bell: Notify,
}

impl Woken {
    pub(super) fn ring(&self, new: Dirty) {
        self.put_back(new);
        self.bell.notify_one();
    }

    /// Looked at in vain: the next one who asks tries again, and nobody sooner.
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

    pub(super) fn is_dirty(&self) -> bool {
        locked(&self.dirty).is_some()
    }
}

/// Started with the first directory.
#[derive(Debug, Default)]
pub(super) struct Watcher {
    watch: OnceLock<Option<Watch>>,
    bells: Arc<Mutex<Bells>>,
}

type Bells = HashMap<PathBuf, Weak<Woken>>;

impl Watcher {
    /// Rings whenever something may have changed in the directory, at once to begin with. `false` where nothing
    /// can be watched at all.
    pub(super) fn add(&self, dir: &Path, scope: Scope, follow: Follow, woken: &Arc<Woken>) -> bool {
        locked(&self.bells).insert(dir.to_owned(), Arc::downgrade(woken));
        let Some(watch) = self.watch.get_or_init(|| start(Arc::clone(&self.bells))) else {
            return false;
        };
        watch.add(dir, scope, follow);
        true
    }

    /// Unless somebody else watches the directory by now.
    pub(super) fn remove(&self, dir: &Path, woken: &Arc<Woken>) {
        let mut bells = locked(&self.bells);
        if bells.get(dir).is_some_and(|bell| bell.as_ptr() == Arc::as_ptr(woken)) {
            bells.remove(dir);
            if let Some(Some(watch)) = self.watch.get() {
                watch.remove(dir);
            }
        }
    }

    /// It is looked through every few seconds, for want of the system's watches.
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
        .inspect_err(|error| tracing::warn!(%error, "could not watch memory directories; they are scanned at each use instead"))
        .ok()
}
