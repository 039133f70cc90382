//! Which history a client continues, told from the messages that it sends again.
//!
//! Owns when two messages count as the same one ([`read`]), the marks of a conversation's prefixes
//! ([`Chain`]), and a message's bytes without a client's cache breakpoints ([`Reading::unmarked`]). Leaves to
//! others where marks are kept and what follows from a match.
//!
//! Clients send a message again a little differently from how it came: members in another order, `null`s,
//! strings for blocks, other escapes, breakpoints that move, thinking left out. None of that is an edit.

mod canon;
mod chain;
mod likeness;
mod shape;

pub use chain::{Chain, ChainScope};
pub use likeness::{LikenessReader, MessageReading, Speaker};

/// The message is not one that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    #[error(transparent)]
    Json(#[from] bethink_transcript::json::BadJson),
    #[error("not a message: an object with `role` and `content`")]
    Message,
}
