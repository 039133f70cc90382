use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

/// `POST /v1/sessions/{id}/messages`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AppendRequest {
    /// `{id?, role, content, assistant_message_id?, model?, usage?, created_at?}`, kept as sent.
    #[schema(value_type = Vec<Object>)]
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
    /// `comfortable`, `degrading`, `warning`, `auto` or `blocking`.
    pub level: String,
    /// Tokens before a compaction is due.
    pub remaining: u64,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct StoredMessage {
    pub seq: u64,
    pub id: String,
    pub role: String,
    /// RFC 3339.
    pub created_at: String,
    /// The message object exactly as it was appended.
    #[schema(value_type = Object)]
    pub message: Box<RawValue>,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct MessagesPage {
    pub messages: Vec<StoredMessage>,
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SearchHit {
    pub session_id: Uuid,
    /// Title of the session, where a whole project was searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub seq: u64,
    pub message_id: String,
    pub role: String,
    /// Higher is better; comparable within one answer only.
    pub score: f64,
    /// The part of the message that shows why it was found, on one line.
    pub snippet: String,
    /// Where words of the query stand in the snippet: start and end, in characters.
    #[serde(default)]
    pub highlights: Vec<[usize; 2]>,
    /// For a tool's result: the call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<AnsweredCall>,
    pub created_at: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AnsweredCall {
    pub seq: u64,
    pub tool: String,
    /// Beginning of what the tool was given.
    pub input: String,
}

/// Best first; nothing rather than what fits badly.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SearchHits {
    pub hits: Vec<SearchHit>,
    /// Everything was searched; `false` while an index is still being made, then ask again.
    #[serde(default = "whole")]
    pub complete: bool,
}

fn whole() -> bool {
    true
}
