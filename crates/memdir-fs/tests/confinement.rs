//! Tests that nothing outside the directory is read or written, whatever is swapped during an operation.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bethink_harness::swaps::{Act, Memory, Seen, race};
use bethink_memdir::{Hash, Scope};
use bethink_memdir_fs::{
    Conflict, DirectoryFile, Expected, FileContent, FileError, Follow, MemoryRoot, WriteOutcome,
};

#[test]
fn a_race_of_swaps_leads_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let open =
        |path: &Path| Held(MemoryRoot::open(path, Scope::Private, Follow::No).unwrap().unwrap());
    let race = race(dir.path(), open, 100_000, 1);
    assert_eq!(race.operations, 100_000);
    assert!(race.escapes.is_empty(), "{:#?}", race.escapes);
    // The race took place, and many operations succeeded.
    assert!(race.swaps > 1_000 && race.refused > 1_000 && race.contents > 10_000, "{race:?}");
}

/// Runs the same race on the naive implementation. The race must detect it.
#[test]
fn the_race_finds_who_checks_first_and_opens_then() {
    // Some machines switch between threads so rarely that one race finds only one kind, or neither.
    let (mut text, mut entry) = (false, false);
    let found = (1..=200).find(|seed| {
        let dir = tempfile::tempdir().unwrap();
        let race = race(dir.path(), |path| Careless(path.to_owned()), 10_000, *seed);
        let told = |what: &str| race.escapes.iter().any(|escape| escape.contains(what));
        text |= told("brought a text");
        entry |= told("brought an entry");
        text && entry
    });
    assert!(found.is_some(), "a text from outside: {text}; an entry from outside: {entry}");
}

struct Held(MemoryRoot);

impl Memory for Held {
    fn act(&self, act: Act, path: &str) -> Seen {
        let file = DirectoryFile::parse(path).unwrap();
        let seen = match act {
            Act::Read => self.0.read(&file).map(seen),
            Act::Write => self.write(&file),
            Act::Remove => self.remove(&file),
            Act::List => self.0.list().map(|listing| Seen {
                inodes: listing.files().map(|(_, stat)| stat.stamp.ino).collect(),
                ..Seen::default()
            }),
            Act::Open => match MemoryRoot::open(self.0.path(), Scope::Private, Follow::No) {
                Ok(Some(root)) => root.read(&file).map(seen),
                _ => Ok(Seen { refused: true, ..Seen::default() }),
            },
        };
        let mut seen = seen.unwrap_or(Seen { refused: true, ..Seen::default() });
        seen.contents.extend(self.0.settle(Duration::ZERO).into_iter().map(|s| s.content.bytes));
        seen
    }
}

impl Held {
    fn write(&self, file: &DirectoryFile) -> Result<Seen, FileError> {
        let before = self.0.read(file)?;
        let expected = before.as_ref().map_or(Expected::Absent, |now| Expected::Hash(now.hash));
        let text = format!("inside: {:?}", Hash::of(format!("{expected:?}").as_bytes()));
        self.0.replace(file, expected, text.as_bytes()).map(handed_out)
    }

    fn remove(&self, file: &DirectoryFile) -> Result<Seen, FileError> {
        let Some(now) = self.0.read(file)? else { return Ok(Seen::default()) };
        self.0.remove(file, now.hash).map(handed_out)
    }
}

fn handed_out(replaced: WriteOutcome) -> Seen {
    match replaced {
        WriteOutcome::Same { .. } | WriteOutcome::Absent => Seen::default(),
        WriteOutcome::Done { before, .. } => seen(before),
        WriteOutcome::Removed { before } => seen(Some(before)),
        WriteOutcome::Conflict(conflict) => all(conflict),
    }
}

fn seen(content: Option<FileContent>) -> Seen {
    let (contents, inodes) =
        content.map(|content| (content.bytes, content.stat.stamp.ino)).into_iter().unzip();
    Seen { contents, inodes, refused: false }
}

fn all(conflict: Conflict) -> Seen {
    let contents = conflict.current.into_iter().chain(conflict.displaced);
    Seen { contents: contents.map(|content| content.bytes).collect(), ..Seen::default() }
}

/// The naive implementation: checks the path, and then uses it.
struct Careless(PathBuf);

impl Memory for Careless {
    fn act(&self, act: Act, path: &str) -> Seen {
        let path = self.0.join(path);
        let inside = fs::canonicalize(&path).is_ok_and(|real| real.starts_with(&self.0));
        match act {
            _ if !inside && act != Act::Write => Seen { refused: true, ..Seen::default() },
            Act::Read | Act::Open | Act::List => {
                let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
                let file = fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(&path);
                let mut seen = Seen::default();
                if let Ok(mut file) = file {
                    let mut bytes = Vec::new();
                    seen.inodes.extend(file.metadata().map(|meta| meta.ino()));
                    seen.contents.extend(file.read_to_end(&mut bytes).ok().map(|_| bytes));
                }
                seen
            }
            Act::Write => {
                let parent = path.parent().unwrap();
                if fs::canonicalize(parent).is_ok_and(|real| real.starts_with(&self.0)) {
                    let temp = path.with_extension("tmp");
                    let _ = fs::write(&temp, "inside").and_then(|()| fs::rename(&temp, &path));
                }
                Seen::default()
            }
            Act::Remove => {
                let _ = fs::remove_file(&path);
                Seen::default()
            }
        }
    }
}
