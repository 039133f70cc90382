//! Reads the session files of Claude Code (JSONL) as they are, and writes them back so that nothing is
//! lost.
//!
//! Owns what a line of such a file means: which message it carries and on which thread, what was
//! compacted, what the session is called; and the shape of the lines that bethink adds to an export.
//! Leaves to others where files lie, where lines are kept, and how sidechains become sessions.
//!
//! The promise: for every input, damaged or not, `head + raw message + tail` of every line, one after
//! the other, are the bytes of the file.
//!
//! Reading order: [`line`] → [`reader`] → [`facts`] → [`writer`] → [`ending`].

mod chains;
pub mod ending;
mod envelope;
pub mod facts;
pub mod line;
pub mod reader;
pub mod writer;

pub use ending::Ending;
pub use facts::SessionFileFacts;
pub use line::{
    LineDamage, LineKind, MessageLine, RecordedCompaction, SessionLine, SidechainKey, Thread,
};
pub use reader::{SessionFileReader, lines};
pub use writer::{ExportedCompaction, RecordWriter};
