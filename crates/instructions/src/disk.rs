//! What this crate asks of a disk. Tests answer from a map.

use std::io;
use std::path::{Path, PathBuf};

/// What stands at a path, through every symlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    File,
    Directory,
    /// A device, pipe or socket: opening one may hang or act.
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

    /// The whole of a regular file, by its real path. Fails when it is larger than `most` or no longer
    /// a regular file, and never waits for anybody to write.
    fn read(&self, real: &Path, most: u64) -> io::Result<Vec<u8>>;

    /// Names in a directory, in any order, at most `most` of them.
    fn list(&self, dir: &Path, most: usize) -> io::Result<Vec<String>>;
}
