//! A memory directory's file: its name, its content, and the stamp that shows changes.

use std::fmt;

pub use bethink_memdir::DirectoryFile;
use bethink_memdir::Hash;
use bethink_transcript::UnixMicros;
use cap_std::fs::{Metadata, MetadataExt};

/// The metadata that changes when a file's content changes. Equal stamps mean equal content, except for files that were
/// written just before they were read: see [`crate::changed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    pub dev: u64,
    pub ino: u64,
    pub size: u64,
    /// Time of the last change to the content, in nanoseconds since 1970.
    pub mtime: i128,
    /// Time of the last change to the content or the metadata, in nanoseconds since 1970.
    pub ctime: i128,
}

/// Metadata of a regular file when it was listed or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub bytes: u64,
    pub modified: UnixMicros,
    pub stamp: Stamp,
}

impl Stat {
    pub(crate) fn of(meta: &Metadata) -> Self {
        let mtime = nanos(meta.mtime(), meta.mtime_nsec());
        let ctime = nanos(meta.ctime(), meta.ctime_nsec());
        let stamp = Stamp { dev: meta.dev(), ino: meta.ino(), size: meta.len(), mtime, ctime };
        let micros = i64::try_from(mtime / 1_000).unwrap_or(0);
        Self { bytes: meta.len(), modified: UnixMicros(micros), stamp }
    }
}

fn nanos(seconds: i64, nanos: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanos)
}

#[derive(Clone, PartialEq, Eq)]
pub struct FileContent {
    pub bytes: Vec<u8>,
    pub hash: Hash,
    /// The file's metadata, taken before the bytes were read, so that a concurrent save shows in the next listing.
    pub stat: Stat,
}

impl FileContent {
    /// Returns the content as text, or `None` if it is not UTF-8.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }
}

impl fmt::Debug for FileContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content")
            .field("bytes", &self.bytes.len())
            .field("hash", &self.hash)
            .finish()
    }
}
