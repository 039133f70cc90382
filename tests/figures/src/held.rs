//! A memory directory for the test in [`swaps`](bethink_harness::swaps).

use std::path::Path;
use std::time::Duration;

use bethink_harness::swaps::{Act, Memory, Seen};
use bethink_memdir::{Hash, Scope};
use bethink_memdir_fs::{
    Conflict, DirectoryFile, Expected, FileContent, FileError, Follow, MemoryRoot, WriteOutcome,
};

/// The memory directory under test.
#[derive(Debug)]
pub struct Held(MemoryRoot);

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
    pub fn open(path: &Path) -> Self {
        Self(MemoryRoot::open(path, Scope::Private, Follow::No).unwrap().unwrap())
    }

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
