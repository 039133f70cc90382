use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use crate::context::FillLevel;
use crate::shape::MessageShape;

/// Messages to append.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AppendRequest {
    /// Stored exactly as they are sent.
    #[schema(value_type = Vec<MessageShape>)]
    pub messages: Vec<Box<RawValue>>,
}

/// What was appended, and how full the window is now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Appended {
    /// Number of new messages. A message whose ID is already in the session is not appended again.
    pub appended: u64,
    /// Position of the first message of this request, including repeated ones.
    pub first_seq: u64,
    /// Position of the last message of this request, including repeated ones.
    pub last_seq: u64,
    pub context: ContextLevel,
}

/// How full the context window is, in brief.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ContextLevel {
    /// Estimated number of tokens in the next prompt. The system prompt and tools are counted as in the last prompt.
    pub tokens: u64,
    pub level: FillLevel,
    /// Number of tokens left until a compaction is due.
    pub remaining: u64,
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// A message of a history, with its position.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct HistoryMessage {
    pub seq: u64,
    /// ID of the message, unique in its session.
    pub id: String,
    pub role: Role,
    /// When it was written, as RFC 3339.
    pub created_at: String,
    /// The message object exactly as it was appended.
    #[schema(value_type = MessageShape)]
    pub message: Box<RawValue>,
}

/// A page of history, oldest message first.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct MessagesPage {
    pub messages: Vec<HistoryMessage>,
    pub next_cursor: Option<String>,
}

/// A part of a message's text. The text is what was said, the arguments of tool calls, and tool results.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MessageText {
    pub seq: u64,
    /// The requested part, at most 40,000 bytes.
    pub text: String,
    /// Position of the part's first byte in the whole text, counted from 0.
    pub first_byte: u64,
    /// Position of the byte after the part; absent at the end of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_byte: Option<u64>,
    /// Size of the whole text, in bytes.
    pub bytes: u64,
    /// Number of lines in the whole text.
    pub lines: u64,
}

/// Which part of a message's text to read; the beginning if no range is given.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TextQuery {
    /// Position of the message
    pub seq: u64,
    /// Only this tool call and its result, by the ID of the call
    pub call: Option<String>,
    /// `A..B`: the bytes from A up to but not including B, counted from 0; either number may be absent
    pub bytes: Option<String>,
    /// `A..B`: lines A to B, counted from 1; either number may be absent
    pub lines: Option<String>,
}

/// The messages that a summary replaces, or only those that match a query.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Expanded {
    pub messages: Vec<HistoryMessage>,
    pub next_cursor: Option<String>,
}

/// Which messages to return, of those that a summary or the text of a collapsed span replaces.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExpandQuery {
    /// Words that the messages must match; a line of the summary or text matches the messages that it refers to
    pub q: Option<String>,
    /// Maximum number of entries
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
    /// `next_cursor` of the previous page
    pub cursor: Option<String>,
}

/// Which messages of a session to read.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MessageQuery {
    /// Messages after this position
    pub after_seq: Option<u64>,
    /// Messages before this position
    pub before_seq: Option<u64>,
    /// Maximum number of entries
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
    /// `next_cursor` of the previous page
    #[param(value_type = Option<String>)]
    pub cursor: Option<u64>,
}
