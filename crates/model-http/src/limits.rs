//! Every limit of this crate, with its reason.

use std::time::Duration;

/// A reachable server completes a handshake in far less, even across the world.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest silence. A model may think for minutes before its first word, and not every server sends
/// pings meanwhile; a shorter limit is known to abort healthy calls.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// Shorter than the idle timeout of servers and load balancers (60 s and more), so that no request is sent on
/// a connection that is being closed.
pub(crate) const POOL_IDLE: Duration = Duration::from_secs(20);

/// Bytes of one event in a stream. Events are usually a few words; a server that sends a whole answer of 128,000
/// tokens in one event needs about 1 MiB.
pub const MAX_EVENT: usize = 8 * 1024 * 1024;

/// Bytes of one whole answer with all its frames: 128,000 tokens, each in an event of about 200 bytes, are 25
/// MiB.
pub const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// Bytes of a forwarded answer that wait to be read: about a millisecond of work.
pub(crate) const MAX_UNREAD: usize = 256 * 1024;

/// How many bytes of an error response are read; error texts have a few hundred.
pub(crate) const MAX_REFUSAL: usize = 64 * 1024;

/// Characters of a provider's text in an error.
pub(crate) const MAX_MESSAGE: usize = 500;

/// Bytes of a request id; they have about 30.
pub(crate) const MAX_REQUEST_ID: usize = 128;

/// A key command asks a keyring or a vault; if it takes longer, it is waiting for a person.
pub(crate) const KEY_COMMAND_TIME: Duration = Duration::from_secs(10);

/// A rejected key is read again, but not more often than this.
pub(crate) const KEY_AGAIN: Duration = Duration::from_secs(60);

/// Bytes of a key; long-lived ones have about 100, signed tokens a few thousand.
pub(crate) const MAX_KEY: usize = 8 * 1024;

/// The longest wait that is accepted from a provider.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Tokens of one call; more than ten times the largest context window.
pub(crate) const MAX_FIGURE: u64 = 100_000_000;

/// Deepest nesting of a tool's input that is passed on as JSON; JSON parsers stop at 128.
pub(crate) const MAX_DEPTH: usize = 100;

/// Limits of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Until a connection is established: name resolution, handshake, TLS.
    pub connect: Duration,
    /// Until the first bytes arrive, and between later ones.
    pub idle: Duration,
    /// Bytes of one event.
    pub event: usize,
    /// Bytes of one answer.
    pub answer: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self { connect: CONNECT_TIMEOUT, idle: IDLE_TIMEOUT, event: MAX_EVENT, answer: MAX_ANSWER }
    }
}
