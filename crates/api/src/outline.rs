//! What each message of a session is, without its text.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutlineKind {
    /// A person wrote it.
    Typed,
    /// A client wrote it in the user's name: for example, a reminder or the text of a skill.
    Inserted,
    /// Results of tool calls.
    Results,
    /// The model wrote it.
    Assistant,
}

/// A tool call of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutlineCall {
    /// ID of the call, which its result repeats.
    pub id: String,
    pub tool: String,
    /// The file that the call names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The call changes that file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edits: bool,
}

/// The result of a tool call, in a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutlineResult {
    /// ID of the call.
    pub id: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// One message of an outline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutlineMessage {
    pub seq: u64,
    pub kind: OutlineKind,
    /// When it was written, as RFC 3339.
    pub created_at: String,
    /// The message has text besides tool calls and thinking.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub says: bool,
    /// The message's tool calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<OutlineCall>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<OutlineResult>,
    /// What the provider reported for the model call. Only the last message of an answer has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<OutlineUsage>,
}

/// Token counts of one model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutlineUsage {
    /// Size of the prompt, in tokens.
    pub prompt: u64,
    /// Number of the prompt's tokens that came from the cache.
    pub cached: u64,
    pub output: u64,
}

/// A part of an outline, oldest message first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Outline {
    pub messages: Vec<OutlineMessage>,
    /// More messages follow the last one.
    pub more: bool,
}

/// Which messages to outline.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OutlineQuery {
    /// Only messages after this position
    pub after_seq: Option<u64>,
}
