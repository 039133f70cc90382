//! Which files must be read again.

use std::collections::{BTreeMap, BTreeSet};

use bethink_transcript::UnixMicros;

use crate::file::{File, Stamp, Stat};
use crate::limits::TICK;
use crate::list::Listing;

/// A file as it was when it was last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub stamp: Stamp,
    /// When the reading began.
    pub at: UnixMicros,
}

impl Seen {
    /// Whether the file may hold something else than what was read.
    pub fn is_stale(&self, now: &Stat) -> bool {
        self.stamp != now.stamp || self.was_hasty()
    }

    /// Read within a tick of its last save: a second save in that tick has the same stamp, so the stamp proves
    /// nothing. What lies in the future proves nothing either.
    fn was_hasty(&self) -> bool {
        let tick = i128::try_from(TICK.as_nanos()).unwrap_or(0);
        self.stamp.mtime.max(self.stamp.ctime) + tick > i128::from(self.at.0) * 1_000
    }
}

/// What to do after a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub read: Vec<File>,
    pub gone: Vec<File>,
}

/// Compares a listing with what was read before.
pub fn changed(seen: &BTreeMap<File, Seen>, listing: &Listing) -> Changes {
    let mut changes = Changes::default();
    let mut there = BTreeSet::new();
    for (file, stat) in listing.files() {
        if seen.get(&file).is_none_or(|seen| seen.is_stale(stat)) {
            changes.read.push(file.clone());
        }
        there.insert(file);
    }
    changes.gone = seen.keys().filter(|file| !there.contains(file)).cloned().collect();
    changes
}
