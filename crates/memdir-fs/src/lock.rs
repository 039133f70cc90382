//! A lock for rewriting a whole directory, shared by all daemons and machines that use it.
//!
//! A single write needs no lock, because it is a compare-and-swap. The lock is for work that rewrites many files for
//! minutes. The lock file contains the time of the last heartbeat, so the lock also works in network folders, where the
//! kernel's locks are local to one machine. The kernel's lock is held only while the file is read and written.

use std::io::{Read, Seek, Write};
use std::time::Duration;

use bethink_transcript::UnixMicros;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{MetadataExt, OpenOptions, OpenOptionsExt};

use crate::error::{FileError, UnusableReason};
use crate::limits::FILE_MODE;
use crate::root::MemoryRoot;

/// The lock file. The name is hidden, so that the file does not count as a memory. The file is removed when the lock is
/// released.
const LOCK: &str = ".bethink.lock";
/// Maximum number of bytes that are read from the lock file, which has one line.
const MOST: u64 = 512;
/// Maximum number of attempts to open the lock file: another process may remove it before it is locked here.
const TRIES: usize = 8;

/// The lock's holder, and the time of its last heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub owner: String,
    pub heard: UnixMicros,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "someone else may hold the lock"]
pub enum LockOutcome {
    /// `after` is the previous holder, whose heartbeat was too old.
    Ours {
        after: Option<Holder>,
    },
    Held(Holder),
}

enum OpenedLock {
    Ours(std::fs::File),
    /// Another process is reading or writing the lock file right now.
    Busy,
    Absent,
}

impl MemoryRoot {
    /// Takes the lock for `owner`, which may hold it already. A lock is taken over if its last heartbeat is more than
    /// `stale` in the past or in the future.
    pub fn lock(
        &self,
        owner: &str,
        now: UnixMicros,
        stale: Duration,
    ) -> Result<LockOutcome, FileError> {
        let mut file = match self.lock_file(true)? {
            OpenedLock::Ours(file) => file,
            OpenedLock::Busy | OpenedLock::Absent => {
                let owner = "another process that is taking the lock".to_owned();
                return Ok(LockOutcome::Held(Holder { owner, heard: now }));
            }
        };
        let alive = |holder: &Holder| {
            let silent = u128::from(now.0.abs_diff(holder.heard.0));
            holder.owner != owner && silent < stale.as_micros()
        };
        match read(&mut file)? {
            Some(holder) if alive(&holder) => Ok(LockOutcome::Held(holder)),
            holder => {
                write(&mut file, owner, now)?;
                Ok(LockOutcome::Ours { after: holder.filter(|holder| holder.owner != owner) })
            }
        }
    }

    /// Writes a heartbeat. Returns whether `owner` still holds the lock.
    pub fn keep_lock(&self, owner: &str, now: UnixMicros) -> Result<bool, FileError> {
        let mut file = match self.lock_file(false)? {
            OpenedLock::Ours(file) => file,
            OpenedLock::Absent => return Ok(false),
            // The previous heartbeat is still recent enough.
            OpenedLock::Busy => return Ok(true),
        };
        let ours = read(&mut file)?.is_some_and(|holder| holder.owner == owner);
        if ours {
            write(&mut file, owner, now)?;
        }
        Ok(ours)
    }

    /// Releases the lock if `owner` holds it. Returns `false` if another process is using the lock file. The caller
    /// should then try again in a moment; otherwise, other daemons must wait until the lock is stale.
    pub fn unlock(&self, owner: &str) -> Result<bool, FileError> {
        let mut file = match self.lock_file(false)? {
            OpenedLock::Ours(file) => file,
            OpenedLock::Absent => return Ok(true),
            OpenedLock::Busy => return Ok(false),
        };
        if read(&mut file)?.is_some_and(|holder| holder.owner == owner) {
            self.dir.remove_file(LOCK).map_err(failed)?;
        }
        Ok(true)
    }

    fn lock_file(&self, make: bool) -> Result<OpenedLock, FileError> {
        self.check_current()?;
        for _ in 0..TRIES {
            let Some(file) = self.open_lock(make)? else { return Ok(OpenedLock::Absent) };
            let opened = file.metadata().map_err(failed)?;
            if !opened.is_file() {
                return Err(FileError::strange(LOCK, UnusableReason::NotAFile));
            }
            let file = file.into_std();
            match file.try_lock() {
                Ok(()) => {}
                Err(std::fs::TryLockError::WouldBlock) => return Ok(OpenedLock::Busy),
                Err(std::fs::TryLockError::Error(error)) => return Err(failed(error)),
            }
            let named = self.dir.symlink_metadata(LOCK);
            if named.is_ok_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino())) {
                return Ok(OpenedLock::Ours(file));
            }
        }
        Ok(OpenedLock::Busy)
    }

    fn open_lock(&self, make: bool) -> Result<Option<cap_std::fs::File>, FileError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(make).mode(FILE_MODE).follow(FollowSymlinks::No);
        // Do not wait if the name belongs to a pipe.
        options.nonblock(true);
        match self.dir.open_with(LOCK, &options) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !make => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }
}

fn failed(error: std::io::Error) -> FileError {
    FileError::io("lock the directory with", LOCK, error)
}

/// Reads the heartbeat and the owner. If they cannot be parsed, the writer was killed, and the lock is free.
fn read(file: &mut std::fs::File) -> Result<Option<Holder>, FileError> {
    let mut bytes = Vec::new();
    file.rewind().map_err(failed)?;
    file.take(MOST).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8_lossy(&bytes);
    let whole = text.strip_suffix('\n').and_then(|line| line.split_once(' '));
    Ok(whole.and_then(|(heard, owner)| {
        Some(Holder { owner: owner.to_owned(), heard: UnixMicros(heard.parse().ok()?) })
    }))
}

fn write(file: &mut std::fs::File, owner: &str, now: UnixMicros) -> Result<(), FileError> {
    let owner: String = owner.chars().filter(|c| !c.is_control()).take(200).collect();
    let line = format!("{} {owner}\n", now.0);
    file.rewind()
        .and_then(|()| file.set_len(0))
        .and_then(|()| file.write_all(line.as_bytes()))
        .and_then(|()| file.sync_all())
        .map_err(failed)
}
