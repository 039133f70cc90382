//! The file system operations that this crate needs. Tests implement them with a map.

use std::io;
use std::path::{Path, PathBuf};

/// The kind of file at a path, after following symlinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    File,
    Directory,
    /// A device, pipe or socket. Opening such a file may block or have side effects.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLook {
    /// The real path, without symlinks, `.` or `..`.
    pub real: PathBuf,
    pub node: FileType,
    pub bytes: u64,
}

/// Access to a file system. Paths are absolute. If there is no file, the error is [`io::ErrorKind::NotFound`].
pub trait Disk {
    fn look(&self, path: &Path) -> io::Result<FileLook>;

    /// Reads a file by its real path, without blocking. Fails if the file is larger than `most` bytes or not a regular
    /// file.
    fn read(&self, real: &Path, most: u64) -> io::Result<Vec<u8>>;

    /// Lists up to `most` names in a directory, in any order.
    fn list(&self, dir: &Path, most: usize) -> io::Result<Vec<String>>;
}
