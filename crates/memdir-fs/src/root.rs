//! An open memory directory.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::{fmt, io};

use bethink_memdir::{Hash, Scope};
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::error::{FileError, RootError};
use crate::file::DirectoryFile;
use crate::limits::{FOLDER_MODE, LANES, MOST_ENTRIES};
use crate::rename::Abilities;

/// Whether the path of a directory may end in a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// For directories that the daemon chose: a link in place of such a directory was created by someone else.
    No,
    /// For directories that a person configured.
    Yes,
}

/// An open memory directory. All operations are relative to its descriptor, one checked path component at a time, and
/// never follow a link to a folder. So nothing outside the directory can be reached, even if someone replaces entries
/// during an operation.
pub struct MemoryRoot {
    pub(crate) path: PathBuf,
    pub(crate) dir: Arc<Dir>,
    pub(crate) scope: Scope,
    pub(crate) abilities: Abilities,
    /// Maximum number of entries that are listed.
    pub(crate) most: usize,
    pub(crate) asides: Mutex<Vec<Aside>>,
    follow: Follow,
    node: Inode,
    lanes: [Mutex<()>; LANES],
}

/// One of our hidden files: a displaced memory file, or a draft that was not moved into place.
#[derive(Debug)]
pub(crate) struct Aside {
    pub(crate) file: DirectoryFile,
    pub(crate) folders: Vec<String>,
    pub(crate) name: String,
    /// Hash of the content that the caller already has, if any.
    pub(crate) known: Option<Hash>,
    /// When the file was displaced; `None` means long ago.
    pub(crate) since: Option<Instant>,
}

/// A file's identity: its device number and its inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inode(pub(crate) u64, pub(crate) u64);

impl MemoryRoot {
    /// Opens a directory; `None` if it does not exist. A private directory excludes `team/`, which has its own root.
    pub fn open(path: &Path, scope: Scope, follow: Follow) -> Result<Option<Self>, RootError> {
        let mut flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if follow == Follow::No {
            flags |= OFlags::NOFOLLOW;
        }
        let descriptor = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(descriptor) => descriptor,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(refused(path, errno)),
        };
        let dir = Dir::from_std_file(descriptor.into());
        let meta =
            dir.dir_metadata().map_err(|source| RootError::Io { path: path.to_owned(), source })?;
        Ok(Some(Self {
            path: path.to_owned(),
            node: Inode(cap_std::fs::MetadataExt::dev(&meta), cap_std::fs::MetadataExt::ino(&meta)),
            dir: Arc::new(dir),
            scope,
            follow,
            abilities: Abilities::default(),
            most: MOST_ENTRIES,
            asides: Mutex::default(),
            lanes: Default::default(),
        }))
    }

    /// Opens a directory. Creates missing parts of the path, which only this user can access.
    pub fn create(path: &Path, scope: Scope, follow: Follow) -> Result<Self, RootError> {
        if let Some(root) = Self::open(path, scope, follow)? {
            return Ok(root);
        }
        let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path);
        made.map_err(|source| RootError::Io { path: path.to_owned(), source })?;
        let gone = || RootError::Io { path: path.to_owned(), source: Errno::NOENT.into() };
        Self::open(path, scope, follow)?.ok_or_else(gone)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns whether the path still leads to the open directory.
    pub fn is_current(&self) -> bool {
        let meta = match self.follow {
            Follow::No => std::fs::symlink_metadata(&self.path),
            Follow::Yes => std::fs::metadata(&self.path),
        };
        meta.is_ok_and(|meta| Inode(meta.dev(), meta.ino()) == self.node)
    }

    pub(crate) fn check_current(&self) -> Result<(), FileError> {
        if self.is_current() { Ok(()) } else { Err(FileError::Moved { path: self.path.clone() }) }
    }

    /// Waits for other writers of the same file in this process, so that writers never see each other's intermediate
    /// states. Other processes may save at any moment; the compare-and-swap handles that.
    pub(crate) fn turn(&self, file: &DirectoryFile) -> MutexGuard<'_, ()> {
        let sum = file.path().bytes().fold(0_usize, |sum, b| sum.wrapping_mul(31) + usize::from(b));
        self.lanes[sum % LANES].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRoot").field("path", &self.path).field("scope", &self.scope).finish()
    }
}

fn refused(path: &Path, errno: Errno) -> RootError {
    let path = path.to_owned();
    match errno {
        // With `O_DIRECTORY`, a link that is not followed causes "not a directory" or "too many links".
        Errno::NOTDIR | Errno::LOOP | Errno::MLINK => {
            if std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink()) {
                RootError::Linked { path }
            } else {
                RootError::NotADirectory { path }
            }
        }
        errno => RootError::Io { path, source: io::Error::from(errno) },
    }
}
