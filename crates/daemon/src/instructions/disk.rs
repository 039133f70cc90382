//! The disk as instructions are read from it, with a note of every path that was looked at.

use std::cell::RefCell;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use bethink_instructions::{Disk, Look, Node};
use bethink_transcript::UnixMicros;
use rustix::fs::OFlags;

use super::stamps::Stamps;

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
    fn look(&self, path: &Path) -> io::Result<Look> {
        self.take(path);
        let real = fs::canonicalize(path)?;
        let found = fs::symlink_metadata(&real)?;
        let node = match found.file_type() {
            kind if kind.is_file() => Node::File,
            kind if kind.is_dir() => Node::Directory,
            _ => Node::Other,
        };
        Ok(Look { real, node, bytes: found.len() })
    }

    fn read(&self, real: &Path, most: u64) -> io::Result<Vec<u8>> {
        // Whatever has been put there since: no link is followed, and a pipe without a writer does not hold us.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(real)?;
        if !file.metadata()?.is_file() || fs::canonicalize(real)? != real {
            return Err(io::Error::other("it changed while it was read"));
        }
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > most {
            true => Err(io::Error::other("it grew while it was read")),
            false => Ok(bytes),
        }
    }

    fn list(&self, dir: &Path, most: usize) -> io::Result<Vec<String>> {
        self.take(dir);
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)?.take(most) {
            // No instruction file has a name that is no text.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }
}
