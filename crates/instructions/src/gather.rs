//! Loads instruction files in order: each file is checked, read, compared with the others, and followed by its imports.

mod admit;
mod imports;
mod touched;
mod walk;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use bethink_memdir::Hash;

use crate::disk::{Disk, FileLook};
use crate::limits::{MOST_BYTES, MOST_FILE_BYTES, MOST_FILES, MOST_SKIPPED};
use crate::patterns::Patterns;
use crate::places::InstructionPlaces;
use crate::report::{
    InstructionKind, InstructionSet, LoadedInstruction, Reason, SkipReason, SkippedFile,
};
use crate::text::{self, InstructionText};

#[derive(Clone, Copy, Debug)]
pub struct InstructionRequest<'a> {
    pub places: &'a InstructionPlaces,
    /// Files that the session reads or writes. Relative paths are relative to the working directory.
    pub touched: &'a [PathBuf],
    /// Real paths that a person has approved.
    pub approved: &'a BTreeSet<PathBuf>,
}

/// Loads everything that applies to a working directory. A file with an error is skipped.
pub fn load(disk: &dyn Disk, request: InstructionRequest<'_>) -> InstructionSet {
    let mut gather = Gather::new(disk, request);
    gather.chain();
    let touched_from = gather.loaded.len();
    gather.touched();
    gather.report_waiting();
    let mut chain = gather.loaded;
    let touched = chain.split_off(touched_from);
    InstructionSet { chain, touched, skipped: gather.skipped, unlisted: gather.unlisted }
}

struct Gather<'a> {
    disk: &'a dyn Disk,
    places: &'a InstructionPlaces,
    asked: &'a [PathBuf],
    approved: &'a BTreeSet<PathBuf>,
    real_root: PathBuf,
    loaded: Vec<LoadedInstruction>,
    skipped: Vec<SkippedFile>,
    unlisted: usize,
    waiting: Vec<WaitingRule>,
    /// Maps real paths to the paths under which the files were loaded.
    by_path: HashMap<PathBuf, PathBuf>,
    by_text: HashMap<Hash, PathBuf>,
    reported: HashSet<PathBuf>,
    bytes: u64,
    imports: usize,
}

#[derive(Clone)]
struct FileCandidate {
    path: PathBuf,
    kind: InstructionKind,
    why: SkipReason,
    /// The directory that a rule's patterns are relative to.
    base: PathBuf,
    /// Whether the file was named by the person or the administrator and not by the project. Such a file needs no approval.
    own: bool,
    /// The path under which the importing file was loaded. `trail` contains the real paths of all files that import
    /// this one, directly or indirectly.
    imported_by: Option<PathBuf>,
    trail: Vec<PathBuf>,
}

/// A rule that has been read and waits until a matching file is touched.
struct WaitingRule {
    candidate: FileCandidate,
    look: FileLook,
    text: InstructionText,
    patterns: Patterns,
}

impl<'a> Gather<'a> {
    fn new(disk: &'a dyn Disk, request: InstructionRequest<'a>) -> Self {
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
            unlisted: 0,
            waiting: Vec::new(),
            by_path: HashMap::new(),
            by_text: HashMap::new(),
            reported: HashSet::new(),
            bytes: 0,
            imports: 0,
        }
    }

    /// Loads a file if it exists and is allowed. Returns whether the file is loaded (now or earlier) or waiting.
    fn offer(&mut self, candidate: FileCandidate) -> bool {
        let look = match self.admit(&candidate) {
            Ok(Some(look)) => look,
            Ok(None) => return false,
            Err((real, reason)) => {
                let counts = matches!(reason, Reason::AlreadyLoaded { .. } | Reason::Cycle);
                self.skip(&candidate, real, reason);
                return counts;
            }
        };
        match self.read(&look) {
            Ok(text) => self.take(candidate, look, text),
            Err(reason) => {
                self.skip(&candidate, Some(look.real), reason);
                false
            }
        }
    }

    fn read(&self, look: &FileLook) -> Result<InstructionText, Reason> {
        if look.bytes > MOST_FILE_BYTES {
            return Err(Reason::TooLarge { bytes: look.bytes });
        }
        let bytes = self.disk.read(&look.real, MOST_FILE_BYTES);
        let bytes = bytes.map_err(|error| Reason::Unreadable { error: error.to_string() })?;
        text::read(bytes).ok_or(Reason::NotText)
    }

    /// Loads a file's text, unless it is a rule with patterns, which waits for a matching file.
    fn take(
        &mut self,
        candidate: FileCandidate,
        look: FileLook,
        mut text: InstructionText,
    ) -> bool {
        let paths = text.paths.take().unwrap_or_default();
        if candidate.kind != InstructionKind::Rule || paths.is_empty() {
            return self.keep(&candidate, look, text, Vec::new());
        }
        let patterns = Patterns::new(&paths);
        if patterns.is_empty() {
            let reason = Reason::NoPattern { faults: patterns.faults };
            self.skip(&candidate, Some(look.real), reason);
            return false;
        }
        text.warnings.extend(patterns.faults.iter().cloned());
        self.waiting.push(WaitingRule { candidate, look, text, patterns });
        true
    }

    /// Loads a text and then its imports, unless the same text is already loaded.
    fn keep(
        &mut self,
        candidate: &FileCandidate,
        look: FileLook,
        text: InstructionText,
        patterns: Vec<String>,
    ) -> bool {
        let FileLook { real, bytes, .. } = look;
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
                return counts;
            }
        };
        self.by_path.insert(real.clone(), candidate.path.clone());
        if !is_copy {
            self.by_text.insert(hash, candidate.path.clone());
            self.bytes += bytes;
            self.loaded.push(LoadedInstruction {
                path: candidate.path.clone(),
                real: real.clone(),
                kind: candidate.kind,
                why: candidate.why.clone(),
                imported_by: candidate.imported_by.clone(),
                patterns,
                bytes,
                lines: text.lines,
                chars: text.chars,
                warnings: text.warnings,
                content: text.content,
            });
        }
        // The same relative imports mean different files in a different directory.
        self.imports_of(candidate, &real, &content);
        true
    }

    /// Returns the reason why a file's text must not be loaded, if there is one.
    fn why_not(&self, hash: Hash, text: &InstructionText, bytes: u64) -> Option<Reason> {
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

    /// Reports a skipped file, once per path.
    fn skip(&mut self, candidate: &FileCandidate, real: Option<PathBuf>, reason: Reason) {
        self.report(&candidate.path, real, candidate.imported_by.clone(), reason);
    }

    fn report(
        &mut self,
        path: &Path,
        real: Option<PathBuf>,
        imported_by: Option<PathBuf>,
        reason: Reason,
    ) {
        if self.skipped.len() >= MOST_SKIPPED {
            self.unlisted += 1;
        } else if self.reported.insert(path.to_path_buf()) {
            self.skipped.push(SkippedFile { path: path.to_path_buf(), real, imported_by, reason });
        }
    }

    fn report_waiting(&mut self) {
        for waiting in std::mem::take(&mut self.waiting) {
            let reason = match self.by_path.get(&waiting.look.real) {
                Some(path) => Reason::AlreadyLoaded { path: path.clone() },
                None => Reason::Waiting { patterns: waiting.patterns.texts() },
            };
            self.skip(&waiting.candidate, Some(waiting.look.real), reason);
        }
    }
}
