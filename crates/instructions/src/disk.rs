//! The disk as this crate needs it. Tests use a map.

use std::io;
use std::path::{Path, PathBuf};

/// The kind of file at a path, after following symlinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    File,
    Directory,
    /// A device, pipe or socket: opening one may hang or have effects.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLook {
    /// Without a symlink, `.` or `..` in it.
    pub real: PathBuf,
    pub node: FileType,
    pub bytes: u64,
}

/// Paths are absolute. Absence is [`io::ErrorKind::NotFound`].
pub trait Disk {
    fn look(&self, path: &Path) -> io::Result<FileLook>;

    /// Reads a regular file by its real path. Fails if it is larger than `most` or no longer a regular file,
    /// and never waits for a writer.
    fn read(&self, real: &Path, most: u64) -> io::Result<Vec<u8>>;

    /// Up to `most` names in a directory, in any order.
    fn list(&self, dir: &Path, most: usize) -> io::Result<Vec<String>>;
}
