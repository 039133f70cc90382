//! Dreaming: a project's own memory is consolidated when nobody waits, or when a person asks.
//!
//! An engine makes a plan from the texts; here is when, who alone, and how a plan is made true: file by file,
//! each compared with what the plan was made for, its version kept. A file that was edited meanwhile is left
//! alone, and then nothing is removed, because what is removed may have moved to it. Whoever is killed on the
//! way has written something twice at most, and the next run goes on from what stands there.
//!
//! Reading order: `gate` (when) → `run` (one dream) → `lock` (alone) → `files` (what is there) → `model` → `apply` → `undo`.

mod apply;
mod files;
mod gate;
mod lock;
mod model;
mod run;
#[cfg(test)]
mod tests;
mod undo;

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bethink_transcript::UnixMicros;

/// Work of this module, by the name under which it is leased.
pub(crate) const DREAM: &str = "dream";
/// The space in which dreams keep what they remember: by project `state`, for all of them the daemon's name.
const SPACE: &str = "dream";

/// What dreams of all projects share.
#[derive(Debug, Default)]
pub(crate) struct DreamDesk {
    /// When a directory's gate is looked through again.
    next: Mutex<HashMap<String, UnixMicros>>,
    /// Projects that are being dreamt of by this daemon.
    dreaming: Mutex<HashSet<String>>,
}

impl DreamDesk {
    fn next(&self) -> MutexGuard<'_, HashMap<String, UnixMicros>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None`: one is under way.
    fn begin<'a>(&'a self, project: &str) -> Option<Dreaming<'a>> {
        let mut dreaming = self.dreaming.lock().unwrap_or_else(PoisonError::into_inner);
        let project = dreaming.insert(project.to_owned()).then(|| project.to_owned())?;
        Some(Dreaming { desk: self, project })
    }
}

/// Ends with the dream, however that ends.
struct Dreaming<'a> {
    desk: &'a DreamDesk,
    project: String,
}

impl Drop for Dreaming<'_> {
    fn drop(&mut self) {
        let mut dreaming = self.desk.dreaming.lock().unwrap_or_else(PoisonError::into_inner);
        dreaming.remove(&self.project);
    }
}
