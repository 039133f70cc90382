//! Finds the history that a client continues, by the messages that the client sends again.
//!
//! Defines when two messages count as the same ([`LikenessReader::read`]), the marks of a conversation's prefixes
//! ([`Chain`]), and a message's bytes without a client's cache breakpoints ([`MessageReading::unmarked`]). Other crates
//! store marks and act on a match.
//!
//! Clients resend a message with small differences: members in another order, `null`s, strings instead of blocks,
//! other escapes, moved breakpoints, no thinking. None of these is an edit.

mod canon;
mod chain;
mod likeness;
mod shape;

pub use chain::{Chain, ChainScope};
pub use likeness::{LikenessReader, MessageReading, Speaker};

/// The error for a message that is invalid and cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    #[error(transparent)]
    Json(#[from] bethink_transcript::json::BadJson),
    #[error("not a message: it must be an object with `role` and `content`")]
    Message,
}
