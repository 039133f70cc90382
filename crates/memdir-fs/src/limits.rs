//! The bounds of a memory directory, and why each.

use std::time::Duration;

/// Bytes of one file. Real topics have a few thousand; what is larger is no memory, and reading it whole would
/// cost every listing.
pub const MOST_BYTES: u64 = 1 << 20;
/// Entries of one directory with its sub-folders. A hundred thousand topics are promised; beyond twice that
/// something else was unpacked here.
pub const MOST_ENTRIES: usize = 200_000;
/// Symbolic links from a topic to its file; Linux allows 40, people make one.
pub(crate) const MOST_HOPS: usize = 8;
/// Exchanges with somebody who saves the same file again and again, until what is left goes to the caller.
pub(crate) const MOST_TURNS: usize = 16;
/// Writers of one directory that can be under way at the same time, each on another file.
pub(crate) const LANES: usize = 16;

/// A stamp says nothing about a file that was written so shortly before it was read: file systems count time
/// in ticks, FAT in ticks of two seconds, and two saves may share one.
pub const TICK: Duration = Duration::from_secs(2);
/// How long what was displaced stays under a hidden name, for an editor that still has it open.
pub const GRACE: Duration = Duration::from_secs(2);
/// A hidden file of ours that has not changed for so long belongs to no write under way, whoever's it was.
pub const LEFT_AFTER: Duration = Duration::from_secs(600);

/// After the first event, further ones are waited for, so that a save in three steps is one look.
pub(crate) const DEBOUNCE: Duration = Duration::from_millis(60);
/// Where the system's watches are used up, how often the directory is looked through.
pub(crate) const POLL: Duration = Duration::from_secs(2);
/// More names than this, and it is cheaper to look at everything.
pub(crate) const MOST_DIRTY: usize = 256;

/// A file that nobody else should read.
pub(crate) const FILE_MODE: u32 = 0o600;
/// A folder that nobody else should look into.
pub(crate) const FOLDER_MODE: u32 = 0o700;
