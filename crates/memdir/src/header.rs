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

pub use change::{Change, Unchangeable, with};
pub use read::{Topic, read};
pub use write::write;

/// Lines at a file's beginning that front matter is read from (specification, section 7).
pub const HEADER_LINES: usize = 30;
/// Bytes of them: what is larger is no header that somebody wrote.
pub const HEADER_BYTES: usize = 64 * 1024;
/// Characters of one value; a description is a line of an index, not a page.
pub const VALUE_CHARS: usize = 1_000;

/// What a memory is about; no part in which one is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    User,
    Feedback,
    Project,
    Reference,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::User, Kind::Feedback, Kind::Project, Kind::Reference];

    pub fn as_str(self) -> &'static str {
        match self {
            Kind::User => "user",
            Kind::Feedback => "feedback",
            Kind::Project => "project",
            Kind::Reference => "reference",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Not one of the four.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no type of memory: use user, feedback, project or reference")]
pub struct UnknownKind(pub String);

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        let known =
            Kind::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(text.trim()));
        known.ok_or_else(|| UnknownKind(text.chars().take(40).collect()))
    }
}

/// Where a memory was learnt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    pub session: String,
    /// Seqs, such as `12` or `12-14`.
    pub messages: Vec<String>,
    /// `embedded`, `model`, `agent` or `person`.
    pub strategy: String,
    /// RFC 3339.
    pub time: String,
}

/// What a topic's front matter says, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub name: Option<String>,
    pub description: Option<String>,
    pub kind: Option<Kind>,
    pub modified: Option<String>,
    pub source: Option<Source>,
    /// Why some of it could not be read, in words.
    pub faults: Vec<String>,
}
