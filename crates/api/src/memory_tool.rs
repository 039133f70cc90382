//! Anthropic's memory tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

/// One call of Anthropic's memory tool, `memory_20250818`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryToolCall {
    pub project_dir: String,
    /// The tool input as the model sent it, such as `{"command": "view", "path": "/memories"}`.
    #[schema(value_type = Object)]
    pub input: Value,
    /// The session in which it was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
}

/// What to send to the model as the content of a `tool_result`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryToolResult {
    /// The text for the model.
    pub content: String,
    /// The call failed; the text says why.
    pub is_error: bool,
}
