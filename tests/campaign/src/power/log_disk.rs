//! A disk that logs each write and flush: a FUSE file system with one file, for a loop device.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bethink_harness::Rng;
use bethink_harness::writes::WriteClock;

use super::fuse;

/// Error numbers of Linux.
const ENOENT: i32 = 2;
const ENOSPC: i32 = 28;
const ENOSYS: i32 = 38;
/// Number of bytes that a disk writes completely or not at all, even if it loses power.
const SECTOR: usize = 512;

/// One entry of the log.
#[derive(Debug)]
pub enum DiskEvent {
    Write { at: usize, bytes: Vec<u8> },
    Flush,
}

#[derive(Debug)]
struct DiskState {
    content: Vec<u8>,
    log: Vec<DiskEvent>,
}

#[derive(Clone, Debug)]
pub struct LogDisk {
    state: Arc<Mutex<DiskState>>,
    /// The length of the log.
    pub clock: WriteClock,
    mount: PathBuf,
}

/// The data that was written up to some moment.
#[derive(Debug)]
pub struct DiskLog {
    base: Vec<u8>,
    events: Vec<DiskEvent>,
}

impl LogDisk {
    /// Mounts the file system at an empty directory.
    pub fn mount(mount: &Path, size: usize) -> std::io::Result<Self> {
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse")?;
        // The helper inherits the connection as its standard input.
        let options = "fd=0,rootmode=40000,user_id=0,group_id=0,allow_other";
        let status = Command::new("mount")
            .args(["-i", "-t", "fuse", "-o", options, "bethink-log-disk"])
            .arg(mount)
            .stdin(Stdio::from(device.try_clone()?))
            .status()?;
        if !status.success() {
            return Err(std::io::Error::other("could not mount a FUSE file system"));
        }
        let state = DiskState { content: vec![0; size], log: Vec::new() };
        let disk = Self {
            state: Arc::new(Mutex::new(state)),
            clock: WriteClock::default(),
            mount: mount.to_owned(),
        };
        let served = disk.clone();
        std::thread::spawn(move || served.serve(device));
        Ok(disk)
    }

    /// Returns the path of the file to use as a block device.
    pub fn file(&self) -> PathBuf {
        self.mount.join("disk")
    }

    /// Clears the log, because cuts only happen after this moment.
    pub fn begin(&self) -> Vec<u8> {
        let mut state = self.lock();
        state.log.clear();
        self.clock.store(0, Ordering::SeqCst);
        state.content.clone()
    }

    pub fn log(&self, base: Vec<u8>) -> DiskLog {
        DiskLog { base, events: std::mem::take(&mut self.lock().log) }
    }

    fn lock(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the kernel until the file system is unmounted.
    fn serve(&self, mut device: File) {
        let mut buffer = vec![0; fuse::MAX_REQUEST];
        loop {
            let length = match device.read(&mut buffer) {
                Ok(length) => length,
                // The request was withdrawn.
                Err(error) if error.raw_os_error() == Some(ENOENT) => continue,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let request = fuse::FuseRequest::parse(&buffer[..length]);
            if matches!(request.opcode, fuse::FORGET | fuse::BATCH_FORGET | fuse::INTERRUPT) {
                continue;
            }
            let answer = fuse::answer(request.unique, self.answer(&request));
            // The kernel may have withdrawn the request meanwhile.
            drop(device.write(&answer));
        }
    }

    fn answer(&self, request: &fuse::FuseRequest<'_>) -> Result<Vec<u8>, i32> {
        let mut state = self.lock();
        let size = state.content.len() as u64;
        let body = request.body;
        match request.opcode {
            fuse::INIT => Ok(fuse::init()),
            fuse::LOOKUP if body.starts_with(b"disk\0") => Ok(fuse::entry(size)),
            fuse::LOOKUP => Err(ENOENT),
            fuse::GETATTR | fuse::SETATTR => Ok(fuse::attr(request.node, size)),
            fuse::OPEN => Ok(fuse::opened()),
            fuse::RELEASE | fuse::FLUSH => Ok(Vec::new()),
            fuse::READ => {
                let from = (fuse::number64(body, 8) as usize).min(state.content.len());
                let to = (from + fuse::number32(body, 16) as usize).min(state.content.len());
                Ok(state.content[from..to].to_vec())
            }
            fuse::WRITE => {
                let (at, length) = (fuse::number64(body, 8) as usize, fuse::number32(body, 16));
                let bytes = body.get(40..40 + length as usize).unwrap_or_default().to_vec();
                let place = state.content.get_mut(at..at + bytes.len()).ok_or(ENOSPC)?;
                place.copy_from_slice(&bytes);
                state.log.push(DiskEvent::Write { at, bytes });
                self.clock.store(state.log.len() as u64, Ordering::SeqCst);
                Ok([length.to_le_bytes(), [0; 4]].concat())
            }
            fuse::FSYNC => {
                state.log.push(DiskEvent::Flush);
                self.clock.store(state.log.len() as u64, Ordering::SeqCst);
                Ok(Vec::new())
            }
            _ => Err(ENOSYS),
        }
    }
}

/// Which of the writes since the last flush remain.
#[derive(Clone, Copy, Debug)]
enum Unflushed {
    All,
    None,
    Some,
    /// Some, and some of them in part.
    Torn,
}

impl DiskLog {
    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the disk's content after a power cut at event `moment`.
    pub fn cut(&self, moment: usize, rng: &mut Rng) -> Vec<u8> {
        let mut content = self.base.clone();
        let happened = &self.events[..moment.min(self.events.len())];
        let flushed = happened.iter().rposition(|event| matches!(event, DiskEvent::Flush));
        let (kept, rest) = happened.split_at(flushed.map_or(0, |at| at + 1));
        kept.iter().for_each(|event| write(&mut content, event, usize::MAX));
        let fate = *rng.pick(&[Unflushed::All, Unflushed::None, Unflushed::Some, Unflushed::Torn]);
        for event in rest {
            let most = match fate {
                Unflushed::All => usize::MAX,
                Unflushed::None => 0,
                Unflushed::Torn if rng.one_in(3) => rng.below(8) * SECTOR,
                Unflushed::Some | Unflushed::Torn if rng.one_in(2) => usize::MAX,
                Unflushed::Some | Unflushed::Torn => 0,
            };
            write(&mut content, event, most);
        }
        content
    }
}

/// Writes at most `most` bytes of a write.
fn write(content: &mut [u8], event: &DiskEvent, most: usize) {
    let DiskEvent::Write { at, bytes } = event else { return };
    let bytes = &bytes[..bytes.len().min(most)];
    if let Some(place) = content.get_mut(*at..*at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_flushed_stays_and_the_rest_may_go() {
        let write = |at: usize, byte: u8| DiskEvent::Write { at, bytes: vec![byte; 1024] };
        let events = vec![write(0, 1), DiskEvent::Flush, write(1024, 2), write(2048, 3)];
        let log = DiskLog { base: vec![0; 3072], events };
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let cut = log.cut(4, &mut Rng::new(seed));
            assert!(cut[..1024].iter().all(|byte| *byte == 1), "flushed");
            seen.insert((cut[1024], cut[2047], cut[2048]));
        }
        assert!(seen.contains(&(0, 0, 0)) && seen.contains(&(2, 2, 3)), "{seen:?}");
        assert!(
            seen.contains(&(0, 0, 3)) && seen.contains(&(2, 0, 0)),
            "reordered, torn: {seen:?}"
        );
        assert!(log.cut(1, &mut Rng::new(1))[1024..].iter().all(|byte| *byte == 0));
    }
}
