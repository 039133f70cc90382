//! How long and how much: every bound of this crate, with its reason.

use std::time::Duration;

/// A server that is there answers a handshake in far less, also across the world.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest silence. A model may think for minutes before its first word, and not every server sends
/// pings meanwhile; a shorter limit is known to end calls that were going well.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// Shorter than what servers and load balancers keep (60 s and more), so that a request doesn't go out on
/// a connection that is being closed.
pub(crate) const POOL_IDLE: Duration = Duration::from_secs(20);

/// One event of a stream. Events are a few words; a server that sends a whole answer of 128,000 tokens in
/// one event needs about 1 MiB.
pub const MAX_EVENT: usize = 8 * 1024 * 1024;

/// One whole answer with all its frames: 128,000 tokens, each in an event of its own of about 200 bytes,
/// are 25 MiB.
pub const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// Bytes of an answer that passes by, kept until there is time to read them: about a millisecond's work.
pub(crate) const MAX_UNREAD: usize = 256 * 1024;

/// Read of the body of a refusal; error texts are a few hundred bytes.
pub(crate) const MAX_REFUSAL: usize = 64 * 1024;

/// Characters of a provider's text in an error.
pub(crate) const MAX_MESSAGE: usize = 500;

/// Bytes of a request's id; they are about 30.
pub(crate) const MAX_REQUEST_ID: usize = 128;

/// A key command asks a keyring or a vault; longer means that it waits for a person.
pub(crate) const KEY_COMMAND_TIME: Duration = Duration::from_secs(10);

/// A key is asked for again after it was refused, but not more often than this.
pub(crate) const KEY_AGAIN: Duration = Duration::from_secs(60);

/// Bytes of a key; long-lived ones have about 100, signed tokens a few thousand.
pub(crate) const MAX_KEY: usize = 8 * 1024;

/// The longest wait that a provider's word is taken for.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Tokens of one call; ten times the largest window there is and more.
pub(crate) const MAX_FIGURE: u64 = 100_000_000;

/// Deepest nesting of a tool's input that is handed on as JSON; readers of JSON stop at 128.
pub(crate) const MAX_DEPTH: usize = 100;

/// What one call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Until a connection stands: name, handshake, TLS.
    pub connect: Duration,
    /// Between two arrivals of bytes, and until the first.
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
