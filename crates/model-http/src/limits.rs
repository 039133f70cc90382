//! Every limit of this crate, with its reason.

use std::time::Duration;

/// Time limit for establishing a connection. A reachable server needs far less, even on the other side of the world.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum time without data. A model may think for minutes before its first word, and not every server sends pings in
/// the meantime. A shorter limit would abort healthy calls.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// How long an idle connection is kept. This is shorter than the idle timeout of servers and load balancers (60 s and more), so
/// that no request is sent on a connection that is being closed.
pub(crate) const POOL_IDLE: Duration = Duration::from_secs(20);

/// Maximum size of an event in a stream, in bytes. Most events contain a few words; a whole answer of 128,000 tokens in
/// one event takes about 1 MiB.
pub const MAX_EVENT: usize = 8 * 1024 * 1024;

/// Maximum size of an answer with all its events, in bytes: 128,000 tokens in events of about 200 bytes are 25 MiB.
pub const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// Maximum number of bytes of a forwarded answer that are collected before they are parsed. Parsing them takes about a
/// millisecond.
pub(crate) const MAX_UNREAD: usize = 256 * 1024;

/// Maximum number of bytes of an error response that are read. Error texts have a few hundred bytes.
pub(crate) const MAX_REFUSAL: usize = 64 * 1024;

/// Maximum length of a provider's text in an error, in characters.
pub(crate) const MAX_MESSAGE: usize = 500;

/// Maximum length of a request id, in bytes. Typical IDs have about 30 bytes.
pub(crate) const MAX_REQUEST_ID: usize = 128;

/// Minimum time before a key that was rejected, or could not be read, is read again.
pub(crate) const KEY_AGAIN: Duration = Duration::from_secs(60);

/// Maximum length of a key, in bytes. Long-lived keys have about 100 bytes, signed tokens a few thousand.
pub(crate) const MAX_KEY: usize = 8 * 1024;

/// Minimum length of a key that is removed from answers, in bytes. Local servers are often given a dummy word as their key, such
/// as `text` or `none`, which occurs in answers anyway. Providers' keys are longer.
pub(crate) const MIN_SECRET: usize = 16;

/// Maximum wait that a provider can ask for; longer waits are capped.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum number of tokens of one kind in one call: more than ten times the largest context window.
pub(crate) const MAX_FIGURE: u64 = 100_000_000;

/// Maximum nesting depth of a tool's input. JSON parsers stop at 128.
pub(crate) const MAX_DEPTH: usize = 100;

/// Limits of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Maximum time to establish a connection: name resolution, handshake and TLS.
    pub connect: Duration,
    /// Maximum time until the first bytes arrive, and between later bytes.
    pub idle: Duration,
    /// Maximum size of an event, in bytes.
    pub event: usize,
    /// Maximum size of an answer, in bytes.
    pub answer: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self { connect: CONNECT_TIMEOUT, idle: IDLE_TIMEOUT, event: MAX_EVENT, answer: MAX_ANSWER }
    }
}
