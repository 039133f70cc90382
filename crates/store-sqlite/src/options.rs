//! What a caller may choose, and the numbers that this crate lives by.

use bethink_transcript::UnixMicros;

/// How to open a store.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Now, for the name of a damaged file's copy; the clock belongs to the caller.
    pub now: UnixMicros,
    /// Largest size of the database in pages of 4096 bytes; more is answered with `Full`.
    pub max_pages: Option<u32>,
}

impl Options {
    pub fn new(now: UnixMicros) -> Self {
        Self { now, max_pages: None }
    }
}

/// Earlier releases can corrupt a WAL database that several connections use (the WAL-reset bug).
pub(crate) const OLDEST_SQLITE: (u32, u32, u32) = (3, 51, 3);

/// Reading connections. Each is a thread; two cores rarely have use for more at once.
pub(crate) const READERS: u32 = 3;
/// Page cache of the writer and of each reader, in KiB: the kernel caches the file anyway.
pub(crate) const WRITER_CACHE_KIB: u32 = 8192;
pub(crate) const READER_CACHE_KIB: u32 = 1024;
/// Prepared statements kept a connection.
pub(crate) const STATEMENTS: usize = 64;

/// The WAL is carried over into the database every so many pages (16 MiB): rarely enough that most
/// commits do not pay for it, often enough that reading the WAL again after a crash takes ~10 ms.
pub(crate) const CHECKPOINT_PAGES: u32 = 4096;
pub(crate) const WAL_KEPT_BYTES: u32 = 16 << 20;

/// Writes that may wait; more make their callers wait.
pub(crate) const QUEUE: usize = 1024;
/// Most requests and most bytes of messages in one commit, so that nobody waits long behind it.
pub(crate) const GROUP_REQUESTS: usize = 256;
pub(crate) const GROUP_BYTES: usize = 8 << 20;

/// How long an answer is kept under its idempotency key.
pub(crate) const RECEIPT_MICROS: i64 = 24 * 3600 * 1_000_000;

/// After an unclean stop, a database up to this size is checked whole before it serves; a larger one
/// must serve within 150 ms and is checked in the background.
pub(crate) const CHECK_AT_ONCE_BYTES: u64 = 64 << 20;
