//! Reads instruction files from disk, and records every path that was checked.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bethink_instructions::{Disk, FileLook, FileType};
use bethink_transcript::UnixMicros;
use rustix::fs::OFlags;

/// A file that changed less than this long ago could change again without a new time stamp: the coarsest file systems
/// have a clock resolution of two seconds.
const YOUNG_MICROS: i64 = 2_000_000;

/// Device, inode, size, modification time and status change time, with times in nanoseconds; `None` if there is no
/// file.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

/// The state of every path that was checked while loading, including missing paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Stamps {
    paths: BTreeMap<PathBuf, Stamp>,
    young: bool,
}

impl Stamps {
    /// Records the state of a path. Called before the path is read, so that the next check notices a concurrent change.
    pub(super) fn take(&mut self, path: &Path, now: UnixMicros) {
        if self.paths.contains_key(path) {
            return;
        }
        let stamp = stamp(path);
        let is_young = |changed: i64| now.0.saturating_sub(changed / 1_000) < YOUNG_MICROS;
        self.young |= stamp.is_some_and(|(.., changed)| is_young(changed));
        self.paths.insert(path.to_path_buf(), stamp);
    }

    pub(super) fn hold(&self) -> bool {
        !self.young && self.paths.iter().all(|(path, known)| stamp(path) == *known)
    }
}

fn stamp(path: &Path) -> Stamp {
    let found = fs::metadata(path).ok()?;
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000) + nanos;
    let modified = nanos(found.mtime(), found.mtime_nsec());
    let changed = nanos(found.ctime(), found.ctime_nsec());
    Some((found.dev(), found.ino(), found.len(), modified, changed))
}

#[derive(Debug)]
pub(super) struct RealDisk {
    stamps: RefCell<Stamps>,
    now: UnixMicros,
}

impl RealDisk {
    pub(super) fn new(now: UnixMicros) -> Self {
        Self { stamps: RefCell::default(), now }
    }

    pub(super) fn into_stamps(self) -> Stamps {
        self.stamps.into_inner()
    }

    fn take(&self, path: &Path) {
        self.stamps.borrow_mut().take(path, self.now);
    }
}

impl Disk for RealDisk {
    fn look(&self, path: &Path) -> io::Result<FileLook> {
        self.take(path);
        let real = fs::canonicalize(path)?;
        let found = fs::symlink_metadata(&real)?;
        let node = match found.file_type() {
            kind if kind.is_file() => FileType::File,
            kind if kind.is_dir() => FileType::Directory,
            _ => FileType::Other,
        };
        Ok(FileLook { real, node, bytes: found.len() })
    }

    fn read(&self, real: &Path, most: u64) -> io::Result<Vec<u8>> {
        // The path may have changed: do not follow links, and do not block on a pipe without a writer.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(real)?;
        if !file.metadata()?.is_file() || fs::canonicalize(real)? != real {
            return Err(io::Error::other("it changed while it was being read"));
        }
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > most {
            true => Err(io::Error::other("it grew while it was being read")),
            false => Ok(bytes),
        }
    }

    fn list(&self, dir: &Path, most: usize) -> io::Result<Vec<String>> {
        self.take(dir);
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)?.take(most) {
            // An instruction file's name is always valid UTF-8.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }
}
