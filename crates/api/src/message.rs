use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use crate::{FillLevel, MessageShape};

/// `POST /v1/sessions/{id}/messages`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AppendRequest {
    /// Kept exactly as they are sent.
    #[schema(value_type = Vec<MessageShape>)]
    pub messages: Vec<Box<RawValue>>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Appended {
    /// Messages that were new; a message id met before counts no second time.
    pub appended: u64,
    /// First and last position of the messages in this request, repeated ones included.
    pub first_seq: u64,
    pub last_seq: u64,
    pub context: ContextLevel,
}

/// How full the window is, in brief.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ContextLevel {
    /// Estimated tokens of the messages that the next prompt shows, system and tools left out.
    pub tokens: u64,
    pub level: FillLevel,
    /// Tokens before a compaction is due.
    pub remaining: u64,
}

/// Who speaks.
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

#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct HistoryMessage {
    pub seq: u64,
    pub id: String,
    pub role: Role,
    /// RFC 3339.
    pub created_at: String,
    /// The message object exactly as it was appended.
    #[schema(value_type = MessageShape)]
    pub message: Box<RawValue>,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct MessagesPage {
    pub messages: Vec<HistoryMessage>,
    pub next_cursor: Option<String>,
}

/// Which messages of a session to read.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MessageQuery {
    /// Messages after this position
    pub after_seq: Option<u64>,
    /// Messages before this position
    pub before_seq: Option<u64>,
    /// At most so many
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
    /// `next_cursor` of the page before
    #[param(value_type = Option<String>)]
    pub cursor: Option<u64>,
}
