//! One line of a session file, and what it means.

use std::fmt;
use std::sync::Arc;

use bethink_transcript::{Message, MessageId, ParseError, UnixMicros};
use bytes::Bytes;

/// Maximum size, in bytes, of a line that is parsed. Images make lines of some megabytes. A longer line is kept
/// unparsed.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// Maximum nesting depth that is parsed: the limit of `serde_json`.
pub const MAX_DEPTH: usize = 128;

/// A line, split around its message: `head + raw + tail` are the bytes of the line, including its line ending. Without
/// a message, `head` is the whole line.
#[derive(Clone, Debug)]
pub struct SessionLine {
    /// The line's number, counted from 1.
    pub number: u64,
    pub head: Bytes,
    pub tail: Bytes,
    pub kind: LineKind,
}

impl SessionLine {
    /// The message object between head and tail; empty if the line has no message.
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
    /// `compact_boundary`: Claude Code has summarized all messages before it.
    Boundary {
        /// `auto` or `manual`, as recorded.
        trigger: String,
        pre_tokens: u64,
        /// Id of the first kept message that precedes the boundary, if there is one.
        kept_from: Option<String>,
    },
    /// `summary`, `custom-title` or `ai-title`.
    Title(String),
    /// The session's tags from this line on.
    Tags(Vec<String>),
    /// A prompt that a person typed while the agent was working. Claude Code passes it to the model without recording a
    /// message.
    Queued {
        text: String,
        at: UnixMicros,
    },
    /// A record that bethink does not use (progress, snapshots, …), or an empty line.
    Other,
    /// A line that could not be used. The line is kept, and reported.
    Damaged(LineDamage),
}

/// A message, with the facts about it from its record.
#[derive(Clone, Debug)]
pub struct MessageLine {
    pub thread: Thread,
    /// Its `seq` is a placeholder. Its id is the record's uuid, or `line-N` if the record has none. If the record has
    /// no time, the message has the time of the previous record.
    pub message: Message,
    pub parent_uuid: Option<String>,
    /// Whether the message is Claude Code's own summary of the messages before a boundary.
    pub is_summary: bool,
    /// Whether Claude Code itself wrote the message, as it does for skill texts and caveats.
    pub is_meta: bool,
}

/// The conversation that a message belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Thread {
    Main,
    /// A subagent's conversation, which becomes a child session.
    Sidechain(SidechainKey),
}

/// The key of a sidechain within its file: the agent's id if the record has one, else the uuid of the first record. The
/// same file always has the same keys.
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

/// A compaction that Claude Code made. Its summary message replaces everything before `boundary_line`, except kept
/// messages; the messages after the summary follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCompaction {
    pub trigger: String,
    pub pre_tokens: u64,
    pub summary: String,
    pub summary_id: MessageId,
    pub created_at: UnixMicros,
    pub boundary_line: u64,
    /// Whether messages before the boundary were kept, or bethink wrote the boundary. The summary is then not a message
    /// of the history, because prompts show messages that precede it in the history after it.
    pub is_apart: bool,
    /// Ids of the first and the last kept message that precede the boundary, if any were kept.
    pub kept: Option<(String, String)>,
    /// Number of messages of the main thread before the boundary.
    pub messages: u64,
}

/// Why a line is stored as a record without a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineDamage {
    #[error("the line is {0} bytes long; the limit is {MAX_LINE_BYTES}")]
    TooLong(usize),
    #[error("invalid UTF-8 at byte {0}")]
    NotUtf8(usize),
    #[error("nested {0} levels deep; the limit is {MAX_DEPTH}")]
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
    #[error("an earlier message already has the uuid {0}")]
    Repeated(MessageId),
}
