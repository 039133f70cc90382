//! A draft: the new text under a hidden name, complete and on disk before it is moved into place.

use std::io::Write;

use bethink_memdir::Hash;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use rustix::fs::{Mode, OFlags};

use crate::error::FileError;
use crate::file::Stat;
use crate::limits::FILE_MODE;
use crate::place::{Place, node};
use crate::rename::side_name;
use crate::root::Inode;

pub(crate) struct FileDraft {
    pub(crate) name: String,
    pub(crate) hash: Hash,
    file: File,
    node: Inode,
}

impl FileDraft {
    pub(crate) fn write(place: &Place, bytes: &[u8], mode: u32) -> Result<Self, FileError> {
        let name = side_name(&place.name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(FILE_MODE).follow(FollowSymlinks::No);
        let file = place.dir.open_with(&name, &options).map_err(|e| place.io("write", e))?;
        let meta = file.metadata().map_err(|error| place.io("write", error))?;
        let mut draft = Self { name, hash: Hash::of(bytes), file, node: node(&meta) };
        match draft.fill(bytes, mode) {
            Ok(()) => Ok(draft),
            Err(error) => {
                draft.discard(place);
                Err(place.io("write", error))
            }
        }
    }

    fn fill(&mut self, bytes: &[u8], mode: u32) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        // Set the previous file's mode explicitly, because the umask would reduce it.
        if mode != FILE_MODE {
            self.file.set_permissions(Permissions::from_mode(mode))?;
        }
        self.file.sync_all()
    }

    /// Returns the file's metadata after the rename, which has updated the change time.
    pub(crate) fn stat(&self, place: &Place) -> Result<Stat, FileError> {
        let meta = self.file.metadata().map_err(|error| place.io("read the metadata of", error))?;
        Ok(Stat::of(&meta))
    }

    /// Removes the draft if its name still refers to it: a rename may have succeeded although it reported an error.
    pub(crate) fn discard(&self, place: &Place) {
        let entry = place.entry_of(&self.name);
        if entry.is_ok_and(|meta| meta.is_some_and(|meta| node(&meta) == self.node))
            && let Err(error) = place.dir.remove_file(&self.name)
        {
            tracing::warn!(file = place.shown, left = self.name, %error, "could not remove a draft");
        }
    }
}

/// Flushes the folder's entries to disk.
pub(crate) fn sync(place: &Place) -> Result<(), FileError> {
    sync_folder(&place.dir).map_err(|error| place.io("write", error))
}

/// Flushes a folder. Our folder descriptors can be used only to look up names, so this function opens the folder for
/// reading, as fsync requires.
pub(crate) fn sync_folder(dir: &Dir) -> std::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = rustix::fs::openat(dir, ".", flags, Mode::empty())?;
    Ok(rustix::fs::fsync(readable)?)
}
