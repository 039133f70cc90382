//! What a model is told of memory: the index in the project part of the system prompt, news of it, and a
//! memory that was recalled.
//!
//! Texts of memories are data that anybody may have written. They stand in tags that they cannot close,
//! and without characters that nobody sees.

mod guard;
mod index;
mod news;
mod recalled;
#[cfg(test)]
mod tests;

pub use guard::guarded;
pub use index::index;
pub use news::index_news;
pub use recalled::{Excerpt, Recalled, excerpt, recalled};

/// Lines of one recalled memory (specification, section 7).
pub const RECALLED_LINES: usize = 200;
/// Bytes of one recalled memory (specification, section 7).
pub const RECALLED_BYTES: usize = 4_096;
