//! The index of a directory, `MEMORY.md`: one line per topic, part of every prompt.
//!
//! People edit it too, so a change touches only the lines of one topic: prose, headings, order and line endings are
//! kept.
//!
//! Reading order: [`Link`] → [`Line`] → [`entries`] → [`shown`] → [`add`] → [`follow`] → [`merge`].

mod edit;
mod follow;
mod lines;
mod links;
mod merge;
mod shown;
mod style;
#[cfg(test)]
mod tests;

pub(crate) use edit::is_teams;
pub use edit::{TopicLine, TopicWords, add, moved_last, rebuild, remove, remove_all};
pub use follow::{LineChange, differing, follow};
pub use lines::{IndexEntry, IndexLine, entries, lines};
pub use links::{Link, Target};
pub use merge::merge;
pub use shown::{IndexBeginning, IndexWarning, shown, warnings};

/// Maximum number of lines of the index that a prompt shows.
pub const INDEX_LINES: usize = 200;
/// Maximum size of those lines, in bytes.
pub const INDEX_BYTES: usize = 25_000;
/// Maximum length of a line, in characters. Longer lines are reported.
pub const LINE_CHARS: usize = 200;
