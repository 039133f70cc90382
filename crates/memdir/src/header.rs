//! A topic's front matter. Front matter is optional, and is accepted in any form that people and tools write.
//!
//! Reading never fails: parts that cannot be read are reported as faults. There are two ways to write: [`write`] makes
//! a new topic; [`with`] changes single keys of an existing topic and no other byte.

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
pub use bethink_api::{MemoryKind, MemoryRecall, UnknownKind, UnknownRecall};
pub use change::{HeaderChange, Unchangeable, with, with_recall};
pub use guess::guess_kind;
pub use read::{TopicText, read};
pub use write::{questions, write};

/// Maximum number of lines at the beginning of a file that may be front matter.
pub const HEADER_LINES: usize = 30;
/// Maximum size of these lines, in bytes. Nobody writes larger front matter by hand.
pub const HEADER_BYTES: usize = 64 * 1024;
/// Maximum length of a value, in characters. The longest values are descriptions, which are meant for a line of the index.
pub const VALUE_CHARS: usize = 1_000;
/// Maximum number of questions per topic.
pub const MOST_QUESTIONS: usize = 5;
/// Maximum length of a question, in characters.
pub const QUESTION_CHARS: usize = 200;

/// The content of a topic's front matter, as far as it could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub name: Option<String>,
    pub description: Option<String>,
    pub kind: Option<MemoryKind>,
    pub modified: Option<String>,
    pub source: Option<Source>,
    /// Questions that the topic answers, worded differently from the topic itself; at most [`MOST_QUESTIONS`].
    pub questions: Vec<String>,
    /// When the topic is added to prompts, if a person decided that.
    pub recall: Option<MemoryRecall>,
    /// Reasons why parts of the front matter could not be read.
    pub faults: Vec<String>,
}
