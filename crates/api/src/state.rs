use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The status of a todo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

/// The priority of a todo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoPriority {
    High,
    #[default]
    Medium,
    Low,
}

/// One item of a todo list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Todo {
    /// An ID that the client chooses, unique in the list.
    #[serde(default)]
    pub id: String,
    /// What to do.
    pub content: String,
    pub status: TodoStatus,
    #[serde(default)]
    pub priority: TodoPriority,
}

/// A kind of state that compactions keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateKind {
    Plan,
    Skills,
    Agents,
    Tools,
    Files,
    Instructions,
    Hooks,
}

impl StateKind {
    pub const ALL: [Self; 7] = [
        Self::Plan,
        Self::Skills,
        Self::Agents,
        Self::Tools,
        Self::Files,
        Self::Instructions,
        Self::Hooks,
    ];
}

/// The whole todo list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Todos {
    pub todos: Vec<Todo>,
}

/// The plan: a file or its text. Prompts show it after a compaction; before, the history shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    /// The file that contains the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The text of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Plan mode is on. Prompts tell the model so after a compaction, and then that it is off.
    #[serde(default)]
    pub active: bool,
}

/// A skill that was invoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Skill {
    pub name: String,
    pub content: String,
}

/// Invoked skills, newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Skills {
    pub skills: Vec<Skill>,
}

/// A subagent of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    /// An ID that the client chooses.
    pub id: String,
    #[serde(default)]
    pub name: String,
    /// `running`, `finished`, `failed`, or another word that the client chooses.
    pub status: String,
    /// The subagent's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The main conversation has seen the result.
    #[serde(default)]
    pub read: bool,
}

/// Subagents of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Agents {
    pub agents: Vec<Agent>,
}

/// Definitions of tools that the session discovered, kept unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Tools {
    #[schema(value_type = Vec<Object>)]
    pub tools: Vec<Box<RawValue>>,
}

/// A file that the agent read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileRead {
    pub path: String,
    /// When the file was read, as RFC 3339. If absent, files later in the list were read later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<String>,
}

/// Files that the agent read, newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Files {
    pub files: Vec<FileRead>,
}

/// Instructions of an agent, an MCP server or a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Instruction {
    pub name: String,
    pub text: String,
}

/// Instructions of agents and MCP servers (kind `instructions`), or output of session-start hooks (kind `hooks`). After
/// a compaction the prompt shows them again in full.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Instructions {
    pub instructions: Vec<Instruction>,
}
