//! Options for opening a store, and the constants of this crate.

use std::time::Duration;

use uuid::Uuid;

use crate::address::PostgresAddress;

/// How to open a store.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    pub address: PostgresAddress,
    /// Maximum number of connections that read, and of those that write, without the one that appends.
    pub readers: u32,
    pub writers: u32,
    /// The daemon that uses the store. Without it, the store may change every session.
    pub daemon: Option<DaemonIdentity>,
}

/// A daemon, as other daemons see it.
#[derive(Clone, Debug)]
pub struct DaemonIdentity {
    /// The id of its home, which no other home has.
    pub home: Uuid,
    /// For error messages, such as its host and process id.
    pub name: String,
}

impl PostgresOptions {
    pub fn new(address: PostgresAddress) -> Self {
        Self { address, readers: 4, writers: 4, daemon: None }
    }
}

/// How long to wait for a server that does not accept a connection.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);

/// How long to wait for the reason why there is no connection.
pub(crate) const CAUSE: Duration = Duration::from_secs(1);

/// How long a connection may be idle until it is tested before its next use. A test takes a round trip.
pub(crate) const TEST_AFTER_IDLE: Duration = Duration::from_secs(1);

/// How long to wait for the answer to a statement. The server ends a statement sooner (see `connect`), so a server that
/// does not answer by then is gone or hangs.
pub(crate) const ANSWER: Duration = Duration::from_secs(20);

/// How long to wait for another process that migrates the database, in PostgreSQL's notation.
pub(crate) const MIGRATION_LOCK: &str = "60s";

/// Maximum time for a start to check and migrate the database, with the wait for another process that does so.
pub(crate) const PREPARE: Duration = Duration::from_secs(600);

/// Number of attempts to take the lock of a home, and the pause between them. The server notices within milliseconds that
/// a daemon was killed.
pub(crate) const TAKE_TRIES: usize = 20;
pub(crate) const TAKE_PAUSE: Duration = Duration::from_millis(100);

/// How often the connection that holds a daemon's locks is tested.
pub(crate) const PING_PAUSE: Duration = Duration::from_secs(20);

/// How long a daemon may take to release a session that another one wants. It has to finish its requests first, but not a
/// model call, which may take minutes.
pub(crate) const HAND_OVER: Duration = Duration::from_secs(10);

/// How long to wait before asking again, because news may get lost.
pub(crate) const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Maximum number of queued appends. When the queue is full, callers wait.
pub(crate) const QUEUE: usize = 1024;
/// Maximum number of requests in one commit, so that no request waits long for the commit.
pub(crate) const GROUP_REQUESTS: usize = 256;
pub(crate) const GROUP_BYTES: usize = 8 << 20;
