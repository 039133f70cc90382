//! `memory`: Anthropic's memory tool, for clients of any model.

use bethink_api as api;
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::{Answered, Effect, ToolAnswer, tool};
use crate::client::McpClient;

// One struct for all commands, because models handle it better than a union.
/// The fields of all commands. The daemon checks which of them belong to the command.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemoryInput {
    command: Verb,
    /// /memories, or a file or folder below it; file names end with .md
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// view: first and last line; -1 is the end
    #[serde(default, skip_serializing_if = "Option::is_none")]
    view_range: Option<Vec<i64>>,
    /// create: content of the new file
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file_text: Option<String>,
    /// str_replace: text that occurs exactly once in the file
    #[serde(default, skip_serializing_if = "Option::is_none")]
    old_str: Option<String>,
    /// str_replace: new text; empty by default
    #[serde(default, skip_serializing_if = "Option::is_none")]
    new_str: Option<String>,
    /// insert: after this line number; 0 is the beginning
    #[serde(default, skip_serializing_if = "Option::is_none")]
    insert_line: Option<i64>,
    /// insert: text to insert
    #[serde(default, skip_serializing_if = "Option::is_none")]
    insert_text: Option<String>,
    /// rename: old path
    #[serde(default, skip_serializing_if = "Option::is_none")]
    old_path: Option<String>,
    /// rename: new path
    #[serde(default, skip_serializing_if = "Option::is_none")]
    new_path: Option<String>,
    /// Absolute path of a project other than the client's
    #[serde(default, skip_serializing)]
    project_dir: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Verb {
    View,
    Create,
    StrReplace,
    Insert,
    Delete,
    Rename,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryOutput {
    content: String,
    is_error: bool,
}

pub(crate) fn described() -> Tool {
    tool::<MemoryInput, MemoryOutput>(
        "memory",
        "Memory files",
        Effect::Replaces,
        "View, create, edit, delete or rename the files of the project's memory under /memories. Earlier \
         content is kept as versions. /memories/team is read-only.",
    )
}

pub(crate) async fn call(client: McpClient, input: MemoryInput) -> Answered<MemoryOutput> {
    let project_dir = client.project(input.project_dir.clone())?;
    let session_id = client.session_if_named(None)?;
    let input: Value =
        serde_json::to_value(input).map_err(bethink_service::ServiceError::internal)?;
    let call = api::MemoryToolCall { project_dir, input, session_id };
    let api::MemoryToolResult { content, is_error } =
        client.daemon.memories.memory_tool(call).await?;
    let output = MemoryOutput { content: content.clone(), is_error };
    Ok(ToolAnswer { value: output, text: content, is_error })
}
