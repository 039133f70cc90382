use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

/// `POST /v1/memory-tool`: one call of Anthropic's memory tool, `memory_20250818`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryToolCall {
    pub project_dir: String,
    /// The tool's input as the model sent it: `{"command": "view", "path": "/memories"}`.
    #[schema(value_type = Object)]
    pub input: Value,
    /// The session that it was called in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
}

/// What the model is to be told, as the content of a `tool_result`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryToolResult {
    pub content: String,
    pub is_error: bool,
}
