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

use std::fmt;
use std::str::FromStr;

pub use bethink_api::MemorySource as Source;
pub use change::{HeaderChange, Unchangeable, with};
pub use read::{TopicText, read};
pub use write::write;

/// Lines at a file's beginning that front matter is read from (specification, section 7).
pub const HEADER_LINES: usize = 30;
/// Bytes of them: what is larger is no header that somebody wrote.
pub const HEADER_BYTES: usize = 64 * 1024;
/// Characters of one value; a description is a line of an index, not a page.
pub const VALUE_CHARS: usize = 1_000;

/// What a memory is about; no part in which one is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryKind {
    User,
    Feedback,
    Project,
    Reference,
}

impl MemoryKind {
    pub const ALL: [MemoryKind; 4] =
        [MemoryKind::User, MemoryKind::Feedback, MemoryKind::Project, MemoryKind::Reference];

    pub fn as_str(self) -> &'static str {
        match self {
            MemoryKind::User => "user",
            MemoryKind::Feedback => "feedback",
            MemoryKind::Project => "project",
            MemoryKind::Reference => "reference",
        }
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Not one of the four.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no type of memory: use user, feedback, project or reference")]
pub struct UnknownKind(pub String);

impl FromStr for MemoryKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        let known = MemoryKind::ALL
            .into_iter()
            .find(|kind| kind.as_str().eq_ignore_ascii_case(text.trim()));
        known.ok_or_else(|| UnknownKind(text.chars().take(40).collect()))
    }
}

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
