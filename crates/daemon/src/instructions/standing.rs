//! What a session's prompts know of instructions since the last compaction.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bethink_context::Entry;
use bethink_instructions::limits::MOST_TOUCHED;
use bethink_instructions::{Instructions, Places};
use bethink_recall::marks;
use bethink_transcript::Seq;

use super::stamps::Stamps;
use crate::hot::HotSession;

/// Shared by a session's slot and whoever makes its prompt.
#[derive(Clone, Debug, Default)]
pub(crate) struct InstructionsShown(Arc<Mutex<Standing>>);

#[derive(Debug, Default)]
struct Standing {
    /// The compaction that the prompts begin at.
    boundary: Option<String>,
    /// Messages up to here were looked through for paths.
    through: Seq,
    touched: Vec<PathBuf>,
    known: HashSet<PathBuf>,
    read: Option<Read>,
    reading: bool,
}

/// What was read, and under which circumstances it still holds.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) found: Arc<Instructions>,
    pub(super) places: Places,
    pub(super) touched: usize,
    pub(super) approved: Arc<BTreeSet<PathBuf>>,
    pub(super) stamps: Arc<Stamps>,
}

impl InstructionsShown {
    /// What to read for the next prompt: the touched paths, and what was read last. `None` while the disk
    /// still owes an earlier answer.
    pub(super) fn begin(
        &self,
        hot: &HotSession,
        asked: &[String],
    ) -> Option<(Vec<PathBuf>, Option<Read>)> {
        let mut standing = self.standing();
        standing.follow(hot, asked);
        if std::mem::replace(&mut standing.reading, true) {
            return None;
        }
        Some((standing.touched.clone(), standing.read.clone()))
    }

    pub(super) fn end(&self, read: Read) {
        let mut standing = self.standing();
        standing.reading = false;
        standing.read = Some(read);
    }

    /// The reading came to no end; the next prompt tries again.
    pub(super) fn broke(&self) {
        self.standing().reading = false;
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As last read.
    pub(super) fn found(&self) -> Option<Arc<Instructions>> {
        self.standing().read.as_ref().map(|read| Arc::clone(&read.found))
    }
}

impl Standing {
    /// Takes in the newest messages' paths. A new boundary forgets what was touched and read.
    pub(super) fn follow(&mut self, hot: &HotSession, asked: &[String]) {
        let boundary = hot.decisions.boundary.as_ref();
        let id = boundary.map(|boundary| boundary.id.clone());
        if self.boundary != id {
            let through = boundary.map_or(Seq::ZERO, |boundary| boundary.made_after);
            // What the disk still owes was asked for before; it is asked anew once it has answered.
            let reading = self.reading;
            *self = Self { boundary: id, through, reading, ..Self::default() };
        }
        let through = self.through;
        let is_new = |entry: &&Entry| entry.message.seq > through;
        let new: Vec<&Entry> = hot.history.entries().iter().rev().take_while(is_new).collect();
        for entry in new.into_iter().rev() {
            self.through = entry.message.seq;
            self.touch(marks::paths_of(&entry.message));
        }
        self.touch(asked.to_vec());
    }

    fn touch(&mut self, paths: Vec<String>) {
        for path in paths.into_iter().map(PathBuf::from) {
            if self.touched.len() < MOST_TOUCHED && self.known.insert(path.clone()) {
                self.touched.push(path);
            }
        }
    }
}
