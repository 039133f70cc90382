//! Reads Claude Code's session files (JSONL), and writes them without any loss.
//!
//! Defines what a line means: its message and thread, a compaction, the session's title. Also defines the format of the
//! lines that bethink adds to an export. The callers read and store files, and turn sidechains into sessions.
//!
//! For every input, even a damaged one, the concatenation of `head + raw message + tail` of all lines is the file, byte for
//! byte.
//!
//! Reading order: [`line`] → [`reader`] → [`facts`] → [`writer`] → [`ending`].

mod chains;
pub mod ending;
mod envelope;
pub mod facts;
pub mod line;
pub mod reader;
mod settled;
pub mod writer;

pub use ending::Ending;
pub use facts::SessionFileFacts;
pub use line::{
    LineDamage, LineKind, MessageLine, RecordedCompaction, SessionLine, SidechainKey, Thread,
};
pub use reader::{SessionFileReader, lines};
pub use settled::SettledLines;
pub use writer::{ExportedCompaction, RecordWriter};
