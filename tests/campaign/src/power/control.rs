//! Two files that show what the disk does: one is synced after each line, the other never.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

use bethink_harness::writes::WriteClock;

const SYNCED: &str = "control-synced";
const UNSYNCED: &str = "control-unsynced";
/// A line is longer than a sector, so that it can be torn.
const LINE: usize = 600;

/// Writes lines to both files, and remembers when each one was done.
#[derive(Debug)]
pub struct ControlWriter {
    synced: File,
    unsynced: File,
    /// The time when each line was written.
    done: Vec<u64>,
}

/// Whether a cut lost lines of each file.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlLoss {
    pub synced: bool,
    pub unsynced: bool,
}

impl ControlWriter {
    pub fn new(dir: &Path) -> std::io::Result<Self> {
        let new = |name: &str| OpenOptions::new().append(true).create(true).open(dir.join(name));
        let control = Self { synced: new(SYNCED)?, unsynced: new(UNSYNCED)?, done: Vec::new() };
        File::open(dir)?.sync_all()?;
        Ok(control)
    }

    pub fn line(&mut self, clock: &WriteClock) -> std::io::Result<()> {
        let line = format!("{:>width$}\n", self.done.len(), width = LINE - 1);
        self.unsynced.write_all(line.as_bytes())?;
        self.synced.write_all(line.as_bytes())?;
        self.synced.sync_all()?;
        self.done.push(clock.load(Ordering::SeqCst));
        Ok(())
    }

    /// Compares the files after a cut with what was done before it.
    pub fn loss(&self, dir: &Path, moment: u64) -> ControlLoss {
        let due = self.done.partition_point(|done| *done <= moment);
        let is_lost = |name: &str| {
            let text = std::fs::read(dir.join(name)).unwrap_or_default();
            let whole = text.chunks(LINE).zip(0..).take_while(|(line, n): &(_, usize)| {
                String::from_utf8_lossy(line) == format!("{n:>width$}\n", width = LINE - 1)
            });
            whole.count() < due
        };
        ControlLoss { synced: is_lost(SYNCED), unsynced: is_lost(UNSYNCED) }
    }
}
