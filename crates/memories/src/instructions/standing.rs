//! The instructions that a session's prompts have shown since the last compaction.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bethink_context::HistoryEntry;
use bethink_instructions::limits::MOST_TOUCHED;
use bethink_instructions::{
    InstructionPlaces, InstructionRequest, InstructionSet, MANAGED, load, root_of,
};
use bethink_recall::marks;
use bethink_service::ServiceContext;
use bethink_sessions::{LoadedSession, SessionFeature};
use bethink_transcript::{Role, Seq, UnixMicros};

use super::disk::{RealDisk, Stamps};

/// The instruction files that a session's prompts show, and the state for reading them again. Kept while the session is in
/// memory.
#[derive(Debug, Default)]
pub(super) struct InstructionsShown {
    /// The compaction whose summary the prompts begin with.
    boundary: Option<String>,
    /// The last message that was searched for paths.
    through: Seq,
    touched: Vec<PathBuf>,
    known: HashSet<PathBuf>,
    read: Option<ReadInstructions>,
    reading: bool,
}

/// Instructions as read, and the state that they depend on.
#[derive(Clone, Debug)]
pub(super) struct ReadInstructions {
    pub(super) found: Arc<InstructionSet>,
    pub(super) places: InstructionPlaces,
    pub(super) touched: usize,
    pub(super) approved: Arc<BTreeSet<PathBuf>>,
    pub(super) stamps: Arc<Stamps>,
}

/// What reading instructions depends on, apart from the project.
#[derive(Clone, Debug)]
pub(super) struct InstructionGround {
    pub(super) home: Option<PathBuf>,
    /// Whether files above the project's root are loaded.
    pub(super) above: bool,
    pub(super) now: UnixMicros,
}

impl InstructionGround {
    pub(super) fn of(cx: &ServiceContext) -> Self {
        let (home, above) = (cx.settings().person.clone(), cx.settings().memory.instructions_above);
        Self { home, above, now: cx.now() }
    }
}

/// Reads all instructions for a working directory. Blocks on the disk.
pub(super) fn read(
    InstructionGround { home, above, now }: InstructionGround,
    dir: &Path,
    cwd: &Path,
    touched: &[PathBuf],
    approved: Arc<BTreeSet<PathBuf>>,
) -> ReadInstructions {
    let disk = RealDisk::new(now);
    let places = InstructionPlaces {
        managed: MANAGED.into(),
        home,
        root: root_of(&disk, dir),
        cwd: cwd.to_path_buf(),
        above,
    };
    let found = load(&disk, InstructionRequest { places: &places, touched, approved: &approved });
    let (found, stamps) = (Arc::new(found), Arc::new(disk.into_stamps()));
    ReadInstructions { found, places, touched: touched.len(), approved, stamps }
}

impl ReadInstructions {
    /// Whether everything that the instructions depend on is unchanged. Checks each file, so it blocks on the disk.
    pub(super) fn holds(&self, touched: usize, approved: &Arc<BTreeSet<PathBuf>>) -> bool {
        self.touched == touched && self.approved == *approved && self.stamps.hold()
    }
}

impl SessionFeature for InstructionsShown {
    fn weight(&self) -> usize {
        let found = self.found();
        let files = found.iter().flat_map(|found| found.chain.iter().chain(&found.touched));
        size_of_val(self) + files.map(|file| file.content.len()).sum::<usize>()
    }
}

impl InstructionsShown {
    /// Begins a read: returns the touched paths and the result of the last read, or `None` while an earlier read is
    /// running.
    pub(super) fn begin(
        &mut self,
        loaded: &LoadedSession,
        asked: &[String],
    ) -> Option<(Vec<PathBuf>, Option<ReadInstructions>)> {
        self.follow(loaded, asked);
        if std::mem::replace(&mut self.reading, true) {
            return None;
        }
        Some((self.touched.clone(), self.read.clone()))
    }

    /// Ends a read. `None` means that the read failed; the next prompt tries again.
    pub(super) fn end(&mut self, read: Option<ReadInstructions>) {
        self.reading = false;
        self.read = read.or(self.read.take());
    }

    /// Returns the instructions as last read.
    pub(super) fn found(&self) -> Option<Arc<InstructionSet>> {
        self.read.as_ref().map(|read| Arc::clone(&read.found))
    }

    /// Adds the paths that the newest messages touch. A new boundary clears touched paths and instructions, except those of
    /// the newest round: the model has not read its results yet.
    fn follow(&mut self, loaded: &LoadedSession, asked: &[String]) {
        let boundary = loaded.state.decisions.boundary.as_ref();
        let id = boundary.map(|boundary| boundary.id.clone());
        if self.boundary != id {
            let through = boundary.map_or(Seq::ZERO, |boundary| boundary.made_after);
            let through = through.min(before_newest_round(loaded));
            // A running read began with the old state; the next prompt reads again.
            let reading = self.reading;
            *self = Self { boundary: id, through, reading, ..Self::default() };
        }
        let through = self.through;
        let is_new = |entry: &&HistoryEntry| entry.message.seq > through;
        let new: Vec<&HistoryEntry> =
            loaded.state.history.entries().iter().rev().take_while(is_new).collect();
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

/// Returns the message before the assistant's newest message, whose calls the newest results answer.
fn before_newest_round(loaded: &LoadedSession) -> Seq {
    let mut newest_first = loaded.state.history.entries().iter().rev();
    let Some(newest) = newest_first.find(|entry| entry.message.role == Role::Assistant) else {
        return Seq::ZERO;
    };
    // The chunks of one message are stored apart.
    let id = newest.message.assistant_message_id.as_ref();
    let mut oldest_first = loaded.state.history.entries().iter();
    let first =
        oldest_first.find(|e| id.is_some() && e.message.assistant_message_id.as_ref() == id);
    Seq(first.unwrap_or(newest).message.seq.0.saturating_sub(1))
}
