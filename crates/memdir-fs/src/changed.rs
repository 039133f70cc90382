//! Determines which files must be read again.

use std::collections::{BTreeMap, BTreeSet};

use bethink_transcript::UnixMicros;

use crate::file::{DirectoryFile, Stamp, Stat};
use crate::limits::TICK;
use crate::list::DirectoryListing;

/// The state of a file when it was last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSeen {
    pub stamp: Stamp,
    pub at: UnixMicros,
}

impl FileSeen {
    /// Returns whether the file may have changed since it was read.
    pub fn is_stale(&self, now: &Stat) -> bool {
        self.stamp != now.stamp || self.was_hasty()
    }

    /// Returns whether the stamp cannot show a change: the file was read within a tick of its last save, and a second
    /// save in that tick would have the same stamp. The same is true of a stamp in the future.
    fn was_hasty(&self) -> bool {
        let tick = i128::try_from(TICK.as_nanos()).unwrap_or(0);
        self.stamp.mtime.max(self.stamp.ctime) + tick > i128::from(self.at.0) * 1_000
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryChanges {
    pub read: Vec<DirectoryFile>,
    pub gone: Vec<DirectoryFile>,
}

/// Compares a listing with the state of the files when they were last read.
pub fn changed(
    seen: &BTreeMap<DirectoryFile, FileSeen>,
    listing: &DirectoryListing,
) -> DirectoryChanges {
    let mut changes = DirectoryChanges::default();
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

#[cfg(test)]
mod tests {
    use super::*;

    const SAVED: i128 = 1_700_000_000_000_000_000;

    fn stat(mtime: i128, size: u64) -> Stat {
        let stamp = Stamp { dev: 1, ino: 2, size, mtime, ctime: mtime };
        Stat { bytes: size, modified: UnixMicros(0), stamp }
    }

    fn seen(read_at_micros_after: i64) -> FileSeen {
        let at = UnixMicros(i64::try_from(SAVED / 1_000).unwrap_or(0) + read_at_micros_after);
        FileSeen { stamp: stat(SAVED, 5).stamp, at }
    }

    #[test]
    fn a_stamp_proves_something_only_when_the_save_was_over_before_the_reading() {
        let same = stat(SAVED, 5);
        assert!(!seen(2_000_001).is_stale(&same));
        assert!(seen(1_999_999).is_stale(&same), "a second save in the same tick looks the same");
        assert!(seen(-60_000_000).is_stale(&same), "a save in the future");
        assert!(seen(9_000_000).is_stale(&stat(SAVED + 1, 5)));
        assert!(seen(9_000_000).is_stale(&stat(SAVED, 6)));
    }

    #[test]
    fn what_is_new_stale_or_gone_is_named() {
        let topic = |name: &str| DirectoryFile::parse(name).ok();
        let listing = DirectoryListing {
            index: Some(stat(SAVED, 5)),
            topics: ["changed", "new", "same"]
                .into_iter()
                .filter_map(|name| match topic(name) {
                    Some(DirectoryFile::Topic(topic)) => Some((topic, stat(SAVED, 5))),
                    _ => None,
                })
                .collect(),
            ..DirectoryListing::default()
        };
        let before = ["MEMORY.md", "changed.md", "gone.md", "same.md"];
        let mut before: BTreeMap<DirectoryFile, FileSeen> =
            before.into_iter().filter_map(|name| Some((topic(name)?, seen(9_000_000)))).collect();
        if let Some(changed) = topic("changed.md").and_then(|file| before.get_mut(&file)) {
            changed.stamp.ino = 9;
        }
        let changes = changed(&before, &listing);
        assert_eq!(
            changes.read,
            ["changed", "new"].map(|name| topic(name).unwrap_or(DirectoryFile::Index))
        );
        assert_eq!(changes.gone, [topic("gone").unwrap_or(DirectoryFile::Index)]);
    }
}
