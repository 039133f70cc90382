//! Options for the caller, and the constants of this crate.

use bethink_transcript::UnixMicros;

/// How to open a store.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The current time, for the name of a damaged file's copy.
    pub now: UnixMicros,
    /// The largest size of the database in pages of 4096 bytes; beyond it, writes fail with `Full`.
    pub max_pages: Option<u32>,
}

impl Options {
    pub fn new(now: UnixMicros) -> Self {
        Self { now, max_pages: None }
    }
}

/// Earlier releases can corrupt a WAL database that several connections use (the WAL-reset bug).
pub(crate) const OLDEST_SQLITE: (u32, u32, u32) = (3, 51, 3);

/// Number of reading connections. Each is a thread; two cores rarely need more.
pub(crate) const READERS: u32 = 3;
/// Page cache of the writer and of each reader, in KiB: the kernel caches the file anyway.
pub(crate) const WRITER_CACHE_KIB: u32 = 8192;
pub(crate) const READER_CACHE_KIB: u32 = 1024;
/// Prepared statements cached per connection.
pub(crate) const STATEMENTS: usize = 64;

/// The WAL is checkpointed every this many pages (16 MiB): rarely enough that most commits do not pay for it,
/// often enough that reading the WAL after a crash takes about 10 ms.
pub(crate) const CHECKPOINT_PAGES: u32 = 4096;
pub(crate) const WAL_KEPT_BYTES: u32 = 16 << 20;

/// How many writes may be queued; with more, callers wait.
pub(crate) const QUEUE: usize = 1024;
/// The most requests and the most message bytes in one commit, so that nobody waits long for it.
pub(crate) const GROUP_REQUESTS: usize = 256;
pub(crate) const GROUP_BYTES: usize = 8 << 20;

/// How long an answer is kept for its idempotency key.
pub(crate) const RECEIPT_MICROS: i64 = 24 * 3600 * 1_000_000;

/// After an unclean stop, a database up to this size is fully checked before it is used; a larger one must be
/// usable within 150 ms and is checked in the background.
pub(crate) const CHECK_AT_ONCE_BYTES: u64 = 64 << 20;
