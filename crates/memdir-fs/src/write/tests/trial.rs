//! Tests that no save is lost, no matter how others save the same file at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use bethink_harness::saves::{Answer, Door, Size, Tally, run};
use bethink_memdir::{Hash, Scope};

use crate::limits::GRACE;
use crate::rename::Abilities;
use crate::{DirectoryFile, Expected, Follow, MemoryRoot, WriteOutcome};

const SIZE: Size = Size { files: 10, writers: 20, edits: 100, git: false };

#[test]
fn every_acknowledged_text_is_found() {
    found(true, true);
}

#[test]
fn every_acknowledged_text_is_found_where_names_cannot_change_places() {
    found(false, true);
    found(false, false);
}

fn found(exchange: bool, no_replace: bool) {
    let tally = tried(|dir| Root::new(dir, Abilities::of(exchange, no_replace, true)));
    assert_eq!(tally.lost, [] as [String; 0]);
    assert_eq!(tally.refused, BTreeMap::new());
    assert_eq!(tally.saved, 800);
    assert!(tally.written > 100 && tally.conflicts > 10, "{tally:?}");
}

/// Runs the same trial on an implementation that compares first and then renames. The trial must detect it.
#[test]
fn the_trial_finds_who_overwrites_what_is_saved_in_between() {
    let tally = tried(|dir| Careless { dir: dir.to_owned(), history: Mutex::default() });
    assert!(!tally.lost.is_empty());
}

fn tried<D: Door>(door: impl FnOnce(&Path) -> D) -> Tally {
    let dir = tempfile::tempdir().unwrap();
    let tally = run(dir.path(), &door(dir.path()), SIZE, 1);
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    let own = |name: &&std::ffi::OsString| name.to_string_lossy().starts_with(".bethink-");
    assert!(
        left.iter().filter(own).count() <= tally.saved,
        "displaced files that nobody wrote to are removed"
    );
    tally
}

#[derive(Default)]
struct History(Mutex<BTreeMap<String, BTreeSet<String>>>);

impl History {
    fn keep(&self, path: &str, text: &[u8]) {
        self.0.lock().unwrap().entry(path.to_owned()).or_default().insert(tag(text));
    }

    fn of(&self, path: &str) -> BTreeSet<String> {
        self.0.lock().unwrap().get(path).cloned().unwrap_or_default()
    }
}

fn tag(text: &[u8]) -> String {
    Hash::of(text).to_string()
}

/// A memory directory that records what it writes and what is returned to it.
struct Root {
    root: MemoryRoot,
    history: History,
}

impl Root {
    fn new(dir: &Path, abilities: Abilities) -> Self {
        let mut root = MemoryRoot::create(dir, Scope::Private, Follow::No).unwrap();
        root.abilities = abilities;
        Self { root, history: History::default() }
    }
}

impl Door for Root {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.root.read(&DirectoryFile::parse(path).unwrap()).unwrap().map(|content| content.bytes)
    }

    fn write(&self, path: &str, before: Option<&[u8]>, text: &[u8]) -> Answer {
        let expected = before.map_or(Expected::Absent, |before| Expected::Hash(Hash::of(before)));
        match self.root.replace(&DirectoryFile::parse(path).unwrap(), expected, text) {
            Ok(WriteOutcome::Done { before, .. }) => {
                self.history.keep(path, text);
                before.iter().for_each(|before| self.history.keep(path, &before.bytes));
                Answer::Written
            }
            Ok(WriteOutcome::Conflict(conflict)) => {
                conflict.displaced.iter().for_each(|text| self.history.keep(path, &text.bytes));
                Answer::Conflict
            }
            Ok(WriteOutcome::Same { .. } | WriteOutcome::Removed { .. } | WriteOutcome::Absent) => {
                Answer::Written
            }
            Err(error) => Answer::Refused(error.to_string()),
        }
    }

    fn settle(&self, last: bool) {
        let settled = self.root.settle(if last { Duration::ZERO } else { GRACE });
        for settled in &settled {
            self.history.keep(&settled.file.path(), &settled.content.bytes);
        }
        self.root.release(&settled);
    }

    fn history(&self, path: &str) -> BTreeSet<String> {
        self.history.of(path)
    }

    fn tag(&self, text: &[u8]) -> String {
        tag(text)
    }
}

struct Careless {
    dir: std::path::PathBuf,
    history: Mutex<History>,
}

impl Door for Careless {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.dir.join(path)).ok()
    }

    fn write(&self, path: &str, before: Option<&[u8]>, text: &[u8]) -> Answer {
        let history = self.history.lock().unwrap();
        let temp = self.dir.join(".temp");
        fs::write(&temp, text).unwrap();
        let now = self.read(path);
        if now.as_deref() != before {
            return Answer::Conflict;
        }
        fs::rename(&temp, self.dir.join(path)).unwrap();
        now.iter().for_each(|now| history.keep(path, now));
        history.keep(path, text);
        Answer::Written
    }

    fn settle(&self, _: bool) {}

    fn history(&self, path: &str) -> BTreeSet<String> {
        self.history.lock().unwrap().of(path)
    }

    fn tag(&self, text: &[u8]) -> String {
        tag(text)
    }
}
