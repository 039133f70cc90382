//! The limits of a memory directory, with their reasons.

use std::time::Duration;

/// Bytes of one file. Real topics have a few thousand; reading much larger files would slow down every listing.
pub const MOST_BYTES: u64 = 1 << 20;
/// Entries of one directory with its subdirectories. A hundred thousand topics are supported; with more than twice
/// that, something else must have been unpacked here.
pub const MOST_ENTRIES: usize = 200_000;
/// Symbolic links from a topic to its file; Linux allows 40, people use one.
pub(crate) const MOST_HOPS: usize = 8;
/// How many exchanges with someone who keeps saving the same file, before the caller gets what is left.
pub(crate) const MOST_TURNS: usize = 16;
/// How many files of one directory can be written at the same time.
pub(crate) const LANES: usize = 16;

/// A stamp proves nothing about a file that was written this shortly before it was read: file systems count time
/// in ticks (FAT: two seconds), and two saves may share one.
pub const TICK: Duration = Duration::from_secs(2);
/// How long a displaced file stays under a hidden name, for an editor that still has it open.
pub const GRACE: Duration = Duration::from_secs(2);
/// One of our hidden files that has not changed for this long does not belong to a running write.
pub const LEFT_AFTER: Duration = Duration::from_secs(600);

/// How long to wait for more events after the first, so that a save in three steps is checked once.
pub(crate) const DEBOUNCE: Duration = Duration::from_millis(60);
/// How often a directory is listed if the system has no watches left.
pub(crate) const POLL: Duration = Duration::from_secs(2);
/// With more changed names than this, it is cheaper to check everything.
pub(crate) const MOST_DIRTY: usize = 256;

/// Files are readable only by this user.
pub(crate) const FILE_MODE: u32 = 0o600;
/// Folders are accessible only to this user.
pub(crate) const FOLDER_MODE: u32 = 0o700;
