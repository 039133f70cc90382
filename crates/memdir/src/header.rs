//! The front matter of a topic: read from whatever people and tools write, never required.
//!
//! Reading is total: what can't be read is a fault in words, beside all that could be. Writing has two
//! ways: [`write`] makes a new topic, [`with`] changes single keys of one that is there and no other byte.

mod block;
mod change;
mod describe;
mod gather;
mod guess;
mod lines;
mod read;
#[cfg(test)]
mod tests;
mod write;
mod yaml;

pub use bethink_api::MemorySource as Source;
pub use bethink_api::{MemoryKind, UnknownKind};
pub use change::{HeaderChange, Unchangeable, with};
pub use guess::guess_kind;
pub use read::{TopicText, read};
pub use write::write;

/// Lines at a file's beginning that front matter is read from (specification, section 7).
pub const HEADER_LINES: usize = 30;
/// Bytes of them: what is larger is no header that somebody wrote.
pub const HEADER_BYTES: usize = 64 * 1024;
/// Characters of one value; a description is a line of an index, not a page.
pub const VALUE_CHARS: usize = 1_000;

/// What a topic's front matter says, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub name: Option<String>,
    pub description: Option<String>,
    pub kind: Option<MemoryKind>,
    pub modified: Option<String>,
    pub source: Option<Source>,
    /// Why some of it could not be read, in words.
    pub faults: Vec<String>,
}
