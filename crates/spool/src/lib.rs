//! The directory in which hook events wait for the daemon, and the file of hook failures.
//!
//! Each event is a private file, which is written completely or not at all. The number and the total size of the files
//! are limited. Hooks add events that they could not deliver; the daemon adds unfinished events and removes finished
//! ones. The file format is in `hook-events`.
//!
//! Files are not synced to disk, because a hook has only milliseconds. If events are lost in a power failure, the next
//! event of the session continues reading the transcript at the last position.
//!
//! Reading order: [`Spool`] → [`faults`].

pub mod faults;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bethink_hook_events::Delivery;
use bethink_hook_events::delivery::{MAX_DELIVERY_BYTES, MAX_WAITING, MAX_WAITING_BYTES};

pub use faults::Faults;

/// The spool directory. Creating this value does not access the disk.
#[derive(Clone, Debug)]
pub struct Spool {
    dir: PathBuf,
}

impl Spool {
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Adds an event, completely or not at all. If the event does not fit, drops the oldest events first. Returns how
    /// many were dropped.
    pub fn put(&self, delivery: &Delivery) -> io::Result<usize> {
        let json = delivery.to_json();
        if json.len() as u64 > MAX_DELIVERY_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the event is too large"));
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let dropped = self.make_room(json.len() as u64)?;
        let aside = self.dir.join(format!("{}.tmp", delivery.id));
        let written = write(&aside, json.as_bytes())
            .and_then(|()| fs::rename(&aside, self.dir.join(delivery.file_name())));
        if written.is_err() {
            // The file may not exist. The caller reports the first error.
            drop(fs::remove_file(&aside));
        }
        written.map(|()| dropped)
    }

    /// Returns the names of the waiting files, oldest first.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| Delivery::is_file_name(name)).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Reads a delivery. Returns `None` if the file no longer exists or is not a delivery.
    pub fn read(&self, name: &str) -> io::Result<Option<Delivery>> {
        let path = self.dir.join(name);
        // Opening a FIFO or a device could block.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.take(MAX_DELIVERY_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(Delivery::read(&bytes))
    }

    /// Removes a file, if it still exists.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.dir.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes the oldest files until another file of `size` bytes fits.
    fn make_room(&self, size: u64) -> io::Result<usize> {
        let names = self.names()?;
        let most = usize::try_from(MAX_WAITING_BYTES / MAX_DELIVERY_BYTES).unwrap_or(0);
        if names.len() < most.min(MAX_WAITING) {
            // There is room even if all files have the maximum size.
            return Ok(0);
        }
        let mut bytes: u64 = names.iter().map(|name| self.size(name)).sum();
        let mut dropped = 0;
        for name in &names {
            if names.len() - dropped < MAX_WAITING && bytes + size <= MAX_WAITING_BYTES {
                break;
            }
            bytes = bytes.saturating_sub(self.size(name));
            self.remove(name)?;
            dropped += 1;
        }
        Ok(dropped)
    }

    fn size(&self, name: &str) -> u64 {
        fs::symlink_metadata(self.dir.join(name)).map_or(0, |metadata| metadata.len())
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file: File =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use bethink_hook_events::{HookClient, HookEvent, HookInput};
    use uuid::Uuid;

    use super::*;

    fn delivery(id: u128) -> Delivery {
        let input = HookInput { prompt: Some("p".repeat(100)), ..HookInput::default() };
        Delivery::new(Uuid::from_u128(id), HookClient::ClaudeCode, HookEvent::Stop, input)
    }

    fn spool() -> (tempfile::TempDir, Spool) {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::at(dir.path().join("spool/hooks"));
        (dir, spool)
    }

    fn ids(spool: &Spool) -> Vec<u128> {
        let names = spool.names().unwrap();
        names.iter().map(|name| spool.read(name).unwrap().unwrap().id.as_u128()).collect()
    }

    #[test]
    fn events_wait_in_order_and_only_their_owner_reads_them() {
        let (dir, spool) = spool();
        assert!(spool.names().unwrap().is_empty());
        for id in [3, 1, 2] {
            assert_eq!(spool.put(&delivery(id)).unwrap(), 0);
        }
        assert_eq!(ids(&spool), [1, 2, 3]);
        let folder = dir.path().join("spool/hooks");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join(delivery(1).file_name()))), (0o700, 0o600));
        spool.remove(&delivery(2).file_name()).unwrap();
        spool.remove(&delivery(2).file_name()).unwrap();
        assert_eq!(ids(&spool), [1, 3]);
    }

    #[test]
    fn the_same_event_waits_once() {
        let (_dir, spool) = spool();
        spool.put(&delivery(1)).unwrap();
        spool.put(&delivery(1)).unwrap();
        assert_eq!(ids(&spool), [1]);
    }

    #[test]
    fn the_oldest_go_when_too_many_wait() {
        let (_dir, spool) = spool();
        for id in 1..=MAX_WAITING as u128 {
            assert_eq!(spool.put(&delivery(id)).unwrap(), 0, "{id}");
        }
        assert_eq!(spool.put(&delivery(5_000)).unwrap(), 1);
        let left = ids(&spool);
        assert_eq!((left.len(), left.first(), left.last()), (MAX_WAITING, Some(&2), Some(&5_000)));
    }

    #[test]
    fn what_is_no_event_is_left_alone_and_never_waited_for() {
        let (dir, spool) = spool();
        spool.put(&delivery(1)).unwrap();
        let folder = dir.path().join("spool/hooks");
        fs::write(folder.join("0190-import.jsonl"), "{}").unwrap();
        fs::write(folder.join(delivery(2).file_name()), "damaged").unwrap();
        let fifo = folder.join(delivery(3).file_name());
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.join(delivery(4).file_name())).unwrap();
        let names = spool.names().unwrap();
        assert_eq!(names.len(), 4);
        assert_eq!(spool.read(&names[1]).unwrap(), None);
        assert_eq!(spool.read(&names[2]).unwrap(), None);
        assert!(spool.read(&names[3]).is_err());
    }
}
