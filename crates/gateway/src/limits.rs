//! Every bound of this crate, with its reason.

/// Read of a refusal. Providers' are a few hundred bytes; a web page of a proxy has some ten thousand.
pub(crate) const MAX_REFUSAL: usize = 1 << 20;

/// Smaller prompts that are tried after a refused one. A first one fits where the refusal names a limit, a second one
/// where it does not.
pub(crate) const SMALLER_TRIES: usize = 2;

/// Breakpoints that one request of the Messages API may have.
pub(crate) const MAX_BREAKPOINTS: usize = 4;

/// Bytes of a client's own session id; they are about 40.
pub(crate) const MAX_CLIENT_KEY: usize = 200;

/// Bytes of a path that a header names: the longest that systems take.
pub(crate) const MAX_PROJECT: usize = 4096;
