//! Reads one file. An entry that is not a regular file is detected without blocking.

use std::io::Read;

use bethink_memdir::Hash;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::OpenOptions;
use rustix::io::Errno;

use crate::error::{FileError, UnusableReason};
use crate::file::{DirectoryFile, FileContent, Stat};
use crate::limits::MOST_BYTES;
use crate::place::Place;
use crate::root::MemoryRoot;

impl MemoryRoot {
    /// Reads a file; `None` if it does not exist.
    pub fn read(&self, file: &DirectoryFile) -> Result<Option<FileContent>, FileError> {
        self.check_current()?;
        let Some(place) = self.find(file)? else { return Ok(None) };
        content(&place, &place.name)
    }
}

/// Reads a regular file in the place's folder. Links are not followed.
pub(crate) fn content(place: &Place, name: &str) -> Result<Option<FileContent>, FileError> {
    match open(place, name)? {
        Some(mut file) => drain(place, &mut file).map(Some),
        None => Ok(None),
    }
}

/// Opens a regular file. Never blocks: a pipe is detected before it is read.
pub(crate) fn open(place: &Place, name: &str) -> Result<Option<cap_std::fs::File>, FileError> {
    match place.entry_of(name)? {
        None => return Ok(None),
        Some(meta) if !meta.is_file() => return Err(place.strange(UnusableReason::NotAFile)),
        Some(_) => {}
    }
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    match place.dir.open_with(name, &options) {
        Ok(file) => Ok(Some(file)),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::NOENT) => Ok(None),
            // The entry was replaced after it was checked.
            Some(Errno::LOOP | Errno::MLINK | Errno::NXIO) => {
                Err(place.strange(UnusableReason::NotAFile))
            }
            _ => Err(place.io("open", error)),
        },
    }
}

pub(crate) fn drain(place: &Place, file: &mut cap_std::fs::File) -> Result<FileContent, FileError> {
    let meta = file.metadata().map_err(|error| place.io("read the metadata of", error))?;
    if !meta.is_file() {
        return Err(place.strange(UnusableReason::NotAFile));
    }
    if meta.len() > MOST_BYTES {
        return Err(place.strange(UnusableReason::TooLarge { bytes: meta.len() }));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| place.io("read", error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(place.strange(UnusableReason::TooLarge { bytes: bytes.len() as u64 }));
    }
    Ok(FileContent { hash: Hash::of(&bytes), bytes, stat: Stat::of(&meta) })
}
