//! Limits of a memory directory, with their reasons.

use std::time::Duration;

/// Maximum size of a file, in bytes. Real topics have a few thousand bytes; much larger files would slow down every
/// listing.
pub const MOST_BYTES: u64 = 1 << 20;
/// Maximum number of entries in a directory and its subdirectories. A hundred thousand topics are supported; a
/// directory with more than twice as many entries must contain something other than topics.
pub const MOST_ENTRIES: usize = 200_000;
/// Maximum number of symbolic links from a topic to its file. Linux allows 40; people rarely use more than one.
pub(crate) const MOST_HOPS: usize = 8;
/// Maximum number of attempts to put back content that others save at the same time. After that, the caller gets the content
/// that was not put back.
pub(crate) const MOST_TURNS: usize = 16;
/// Maximum number of files in a directory that are written at the same time.
pub(crate) const LANES: usize = 16;

/// Coarsest clock resolution of file systems (FAT: two seconds). Two saves within this time may have the same stamp, so
/// a file that was read this soon after a save must be read again.
pub const TICK: Duration = Duration::from_secs(2);
/// How long a displaced file stays under a hidden name, for an editor that still has it open.
pub const GRACE: Duration = Duration::from_secs(2);
/// If one of our hidden files has not changed for this long, it does not belong to a running write.
pub const LEFT_AFTER: Duration = Duration::from_secs(600);

/// How long to wait for more events after the first one, so that a save in several steps is checked only once.
pub(crate) const DEBOUNCE: Duration = Duration::from_millis(60);
/// How often a directory is listed if the system cannot watch it.
pub(crate) const POLL: Duration = Duration::from_secs(2);
/// If more names than this have changed, it is cheaper to check everything.
pub(crate) const MOST_DIRTY: usize = 256;

/// Mode of new files: only this user can read them.
pub(crate) const FILE_MODE: u32 = 0o600;
/// Mode of new folders: only this user can access them.
pub(crate) const FOLDER_MODE: u32 = 0o700;
