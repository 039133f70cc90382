//! Options for opening a store, and the constants of this crate.

use bethink_transcript::UnixMicros;

/// How to open a store.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The current time. It names the copy of a damaged database and dates recovered sessions.
    pub now: UnixMicros,
    /// Maximum size of the database, in pages of 4096 bytes. Beyond it, writes fail with `Full`.
    pub max_pages: Option<u32>,
}

impl Options {
    pub fn new(now: UnixMicros) -> Self {
        Self { now, max_pages: None }
    }
}

/// Page size of every database that we create.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Minimum version of SQLite. Earlier ones can corrupt a WAL database that several connections use (the WAL-reset bug).
pub(crate) const OLDEST_SQLITE: (u32, u32, u32) = (3, 51, 3);

/// Number of reading connections. Each is a thread; two cores rarely need more.
pub(crate) const READERS: u32 = 3;
/// Size of the writer's page cache, in KiB. The cache is small, because the kernel caches the file.
pub(crate) const WRITER_CACHE_KIB: u32 = 8192;
pub(crate) const READER_CACHE_KIB: u32 = 1024;
/// Number of prepared statements cached per connection.
pub(crate) const STATEMENTS: usize = 64;

/// Size of the WAL at which it is checkpointed, in pages (16 MiB). It is large, so that few commits pay for a
/// checkpoint, but not so large that reading the WAL after a crash takes more than about 10 ms.
pub(crate) const CHECKPOINT_PAGES: u32 = 4096;
pub(crate) const WAL_KEPT_BYTES: u32 = 16 << 20;

/// Maximum number of queued writes. When the queue is full, callers wait.
pub(crate) const QUEUE: usize = 1024;
/// Maximum number of requests in one commit, so that no request waits long for the commit.
pub(crate) const GROUP_REQUESTS: usize = 256;
pub(crate) const GROUP_BYTES: usize = 8 << 20;

/// Maximum size of a database that is fully checked before use after an unclean stop, in bytes. A larger database is
/// checked in the background, so that it is usable within 150 ms.
pub(crate) const CHECK_AT_ONCE_BYTES: u64 = 64 << 20;
