//! One line of a session file, and what it means.

use std::fmt;
use std::sync::Arc;

use bethink_transcript::{Message, MessageId, ParseError, UnixMicros};
use bytes::Bytes;

/// Longest line that is read. Recorded images make lines of some megabytes; a longer one is kept
/// without being looked into.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// Deepest nesting that is read, the limit that `serde_json` sets for itself.
pub const MAX_DEPTH: usize = 128;

/// A line cut around the message that it carries: `head + raw + tail` are its bytes again, its line
/// end included. A line without a message is all head.
#[derive(Clone, Debug)]
pub struct SessionLine {
    /// From 1.
    pub number: u64,
    pub head: Bytes,
    pub tail: Bytes,
    pub kind: LineKind,
}

impl SessionLine {
    /// The message object between head and tail; empty where the line carries none.
    pub fn raw(&self) -> &[u8] {
        match &self.kind {
            LineKind::Message(line) => line.message.raw(),
            _ => &[],
        }
    }
}

#[derive(Clone, Debug)]
pub enum LineKind {
    Message(Box<MessageLine>),
    /// `compact_boundary`: what came before it was summarised by the recorder.
    Boundary {
        /// `auto` or `manual`, as recorded.
        trigger: String,
        pre_tokens: u64,
    },
    /// `summary`, `custom-title` or `ai-title`.
    Title(String),
    /// The tags of the session from here on.
    Tags(Vec<String>),
    /// A record that means nothing to bethink (progress, snapshots, …), or an empty line.
    Other,
    /// Kept whole, and worth reporting.
    Damaged(LineDamage),
}

/// A message with what its record says of it.
#[derive(Clone, Debug)]
pub struct MessageLine {
    pub thread: Thread,
    /// Its `seq` is a placeholder; its id is the record's uuid, or `line-N` where it has none; its
    /// time is that of the record before where it has none.
    pub message: Message,
    pub parent_uuid: Option<String>,
    /// The recorder's own summary, standing in for what came before a boundary.
    pub is_summary: bool,
    /// Written by the recorder rather than by a person (skill texts, caveats).
    pub is_meta: bool,
}

/// The conversation that a message belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Thread {
    Main,
    /// A sub-agent's conversation, which becomes a child session.
    Sidechain(SidechainKey),
}

/// Names a sidechain within its file: the agent's id where the record gives one, else the uuid of its
/// first record. The same file gives the same keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SidechainKey(pub(crate) Arc<str>);

impl SidechainKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SidechainKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A compaction that the recorder made: it covers all before `boundary_line`, its summary message
/// stands for that, and what follows the summary was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCompaction {
    pub trigger: String,
    pub pre_tokens: u64,
    pub summary: String,
    pub summary_id: MessageId,
    pub created_at: UnixMicros,
    pub boundary_line: u64,
    pub summary_line: u64,
}

/// Why a line is kept as a record alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineDamage {
    #[error("the line has {0} bytes; at most {MAX_LINE_BYTES} are read")]
    TooLong(usize),
    #[error("not UTF-8 from byte {0} on")]
    NotUtf8(usize),
    #[error("nested {0} deep; at most {MAX_DEPTH} levels are read")]
    TooDeep(usize),
    #[error("not a JSON object")]
    NotAnObject,
    #[error("not JSON: {0}")]
    NotJson(String),
    #[error("the record has no message")]
    NoMessage,
    #[error("the message is empty")]
    Empty,
    #[error("not a message: {0}")]
    Message(#[from] ParseError),
    #[error("the message repeats uuid {0} of an earlier line")]
    Repeated(MessageId),
}
