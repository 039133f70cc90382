//! Texts about memory in prompts: the index in the system prompt, later changes to it, and recalled memories.
//!
//! A memory is untrusted data. A memory's text is put between tags that it cannot close, without invisible characters.

mod guard;
mod index;
mod news;
mod recalled;
#[cfg(test)]
mod tests;

pub use guard::{guarded, guarded_line};
pub use index::{index, shown_indexes};
pub use news::index_news;
pub use recalled::{Excerpt, RecalledText, excerpt, recalled, unmerged};

/// Maximum number of lines of a recalled memory.
pub const RECALLED_LINES: usize = 200;
/// Maximum size of a recalled memory, in bytes.
pub const RECALLED_BYTES: usize = 4_096;
