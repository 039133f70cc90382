//! From places to files, in order: each is admitted, read, compared with what is there, and its imports
//! follow it.

mod admit;
mod imports;
mod touched;
mod walk;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use bethink_memdir::Hash;

use crate::disk::{Disk, Look};
use crate::limits::{MOST_BYTES, MOST_FILE_BYTES, MOST_FILES, MOST_SKIPPED};
use crate::patterns::Patterns;
use crate::places::Places;
use crate::report::{Instructions, Kind, Loaded, Reason, Skipped, Why};
use crate::text::{self, Text};

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub places: &'a Places,
    /// Files that the session reads or writes; relative ones lie in the working directory.
    pub touched: &'a [PathBuf],
    /// Real paths that a person approved.
    pub approved: &'a BTreeSet<PathBuf>,
}

/// Everything that counts for a working directory. What is wrong with a file skips that file alone.
pub fn load(disk: &dyn Disk, request: Request<'_>) -> Instructions {
    let mut gather = Gather::new(disk, request);
    gather.chain();
    let touched_from = gather.loaded.len();
    gather.touched();
    gather.tell_waiting();
    let mut chain = gather.loaded;
    let touched = chain.split_off(touched_from);
    Instructions { chain, touched, skipped: gather.skipped, untold: gather.untold }
}

struct Gather<'a> {
    disk: &'a dyn Disk,
    places: &'a Places,
    asked: &'a [PathBuf],
    approved: &'a BTreeSet<PathBuf>,
    real_root: PathBuf,
    loaded: Vec<Loaded>,
    skipped: Vec<Skipped>,
    untold: usize,
    waiting: Vec<Waiting>,
    /// Real path, and as what it was loaded.
    by_path: HashMap<PathBuf, PathBuf>,
    by_text: HashMap<Hash, PathBuf>,
    told: HashSet<PathBuf>,
    bytes: u64,
    imports: usize,
}

/// A file that may be loaded.
#[derive(Clone)]
struct Candidate {
    path: PathBuf,
    kind: Kind,
    why: Why,
    /// What a rule's patterns are relative to.
    base: PathBuf,
    /// Named by the person or the administrator and not by the project, so that it needs no approval.
    own: bool,
    /// Who imported it: path as loaded, and the real paths from the chain on.
    imported_by: Option<PathBuf>,
    trail: Vec<PathBuf>,
}

/// A rule that has been read and waits for a file.
struct Waiting {
    candidate: Candidate,
    look: Look,
    text: Text,
    patterns: Patterns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Absent,
    /// Loaded, here or elsewhere, or waiting.
    Counts,
    Refused,
}

impl<'a> Gather<'a> {
    fn new(disk: &'a dyn Disk, request: Request<'a>) -> Self {
        let places = request.places;
        let real_root = disk.look(&places.root).map_or_else(|_| places.root.clone(), |l| l.real);
        Self {
            disk,
            places,
            asked: request.touched,
            approved: request.approved,
            real_root,
            loaded: Vec::new(),
            skipped: Vec::new(),
            untold: 0,
            waiting: Vec::new(),
            by_path: HashMap::new(),
            by_text: HashMap::new(),
            told: HashSet::new(),
            bytes: 0,
            imports: 0,
        }
    }

    /// Loads a file, if it is there and may be.
    fn offer(&mut self, candidate: Candidate) -> Outcome {
        let look = match self.admit(&candidate) {
            Ok(Some(look)) => look,
            Ok(None) => return Outcome::Absent,
            Err((real, reason)) => {
                let counts = matches!(reason, Reason::AlreadyLoaded { .. } | Reason::Cycle);
                self.skip(&candidate, real, reason);
                return if counts { Outcome::Counts } else { Outcome::Refused };
            }
        };
        match self.read(&look) {
            Ok(text) => self.take(candidate, look, text),
            Err(reason) => {
                self.skip(&candidate, Some(look.real), reason);
                Outcome::Refused
            }
        }
    }

    fn read(&self, look: &Look) -> Result<Text, Reason> {
        if look.bytes > MOST_FILE_BYTES {
            return Err(Reason::TooLarge { bytes: look.bytes });
        }
        let bytes = self.disk.read(&look.real, MOST_FILE_BYTES);
        let bytes = bytes.map_err(|error| Reason::Unreadable { error: error.to_string() })?;
        text::read(bytes).ok_or(Reason::NotText)
    }

    /// A rule with patterns waits; anything else is loaded.
    fn take(&mut self, candidate: Candidate, look: Look, mut text: Text) -> Outcome {
        let paths = text.paths.take().unwrap_or_default();
        if candidate.kind != Kind::Rule || paths.is_empty() {
            return self.keep(&candidate, look, text, Vec::new());
        }
        let patterns = Patterns::new(&paths);
        if patterns.is_empty() {
            let reason = Reason::NoPattern { faults: patterns.faults };
            self.skip(&candidate, Some(look.real), reason);
            return Outcome::Refused;
        }
        text.warnings.extend(patterns.faults.iter().cloned());
        self.waiting.push(Waiting { candidate, look, text, patterns });
        Outcome::Counts
    }

    /// Loads what has been read, unless the same text is there; its imports follow it.
    fn keep(
        &mut self,
        candidate: &Candidate,
        look: Look,
        text: Text,
        patterns: Vec<String>,
    ) -> Outcome {
        let Look { real, bytes, .. } = look;
        let hash = Hash::of(text.content.as_bytes());
        let content = text.content.clone();
        let is_copy = match self.why_not(hash, &text, bytes) {
            None => false,
            Some(reason @ Reason::SameText { .. }) => {
                self.skip(candidate, Some(real.clone()), reason);
                true
            }
            Some(reason) => {
                let counts = reason == Reason::Empty;
                self.skip(candidate, Some(real), reason);
                return if counts { Outcome::Counts } else { Outcome::Refused };
            }
        };
        self.by_path.insert(real.clone(), candidate.path.clone());
        if !is_copy {
            self.by_text.insert(hash, candidate.path.clone());
            self.bytes += bytes;
            self.loaded.push(loaded(candidate, real.clone(), bytes, text, patterns));
        }
        // A copy's words name other files from another directory.
        self.imports_of(candidate, &real, &content);
        Outcome::Counts
    }

    /// Why a text that was read is not loaded.
    fn why_not(&self, hash: Hash, text: &Text, bytes: u64) -> Option<Reason> {
        if text.content.is_empty() {
            return Some(Reason::Empty);
        }
        if let Some(path) = self.by_text.get(&hash) {
            return Some(Reason::SameText { path: path.clone() });
        }
        if self.loaded.len() >= MOST_FILES {
            return Some(Reason::TooManyFiles);
        }
        (self.bytes + bytes > MOST_BYTES).then_some(Reason::TooManyBytes)
    }

    /// Told once for each path.
    fn skip(&mut self, candidate: &Candidate, real: Option<PathBuf>, reason: Reason) {
        self.tell(&candidate.path, real, candidate.imported_by.clone(), reason);
    }

    fn tell(
        &mut self,
        path: &Path,
        real: Option<PathBuf>,
        imported_by: Option<PathBuf>,
        reason: Reason,
    ) {
        if self.skipped.len() >= MOST_SKIPPED {
            self.untold += 1;
        } else if self.told.insert(path.to_path_buf()) {
            self.skipped.push(Skipped { path: path.to_path_buf(), real, imported_by, reason });
        }
    }

    fn tell_waiting(&mut self) {
        for waiting in std::mem::take(&mut self.waiting) {
            let reason = match self.by_path.get(&waiting.look.real) {
                Some(path) => Reason::AlreadyLoaded { path: path.clone() },
                None => Reason::Waiting { patterns: waiting.patterns.texts() },
            };
            self.skip(&waiting.candidate, Some(waiting.look.real), reason);
        }
    }
}

fn loaded(
    candidate: &Candidate,
    real: PathBuf,
    bytes: u64,
    text: Text,
    patterns: Vec<String>,
) -> Loaded {
    Loaded {
        path: candidate.path.clone(),
        real,
        kind: candidate.kind,
        why: candidate.why.clone(),
        imported_by: candidate.imported_by.clone(),
        patterns,
        bytes,
        lines: text.lines,
        chars: text.chars,
        warnings: text.warnings,
        content: text.content,
    }
}
