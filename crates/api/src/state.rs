use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoPriority {
    High,
    #[default]
    Medium,
    Low,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Todo {
    #[serde(default)]
    pub id: String,
    pub content: String,
    pub status: TodoStatus,
    #[serde(default)]
    pub priority: TodoPriority,
}

/// What of a session is kept across compactions by `PUT /v1/sessions/{id}/state/{kind}`.
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

/// `GET, PUT /v1/sessions/{id}/todos`: always the whole list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Todos {
    pub todos: Vec<Todo>,
}

/// `PUT …/state/plan`: a file that the session points at, or its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Plan mode is on.
    #[serde(default)]
    pub active: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Skill {
    pub name: String,
    pub content: String,
}

/// `PUT …/state/skills`: invoked skills, newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Skills {
    pub skills: Vec<Skill>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    pub id: String,
    #[serde(default)]
    pub name: String,
    /// `running`, `finished`, `failed`, or the client's own word.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The main conversation has seen the result.
    #[serde(default)]
    pub read: bool,
}

/// `PUT …/state/agents`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Agents {
    pub agents: Vec<Agent>,
}

/// `PUT …/state/tools`: definitions of tools that were discovered on the way, verbatim.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Tools {
    #[schema(value_type = Vec<Object>)]
    pub tools: Vec<Box<RawValue>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileRead {
    pub path: String,
    /// RFC 3339; order in the list decides where it is absent, newest last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<String>,
}

/// `PUT …/state/files`: files read, newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Files {
    pub files: Vec<FileRead>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Instruction {
    pub name: String,
    pub text: String,
}

/// `PUT …/state/instructions` (of agents and MCP servers) and `PUT …/state/hooks` (output of
/// session-start hooks): announced again in full after a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Instructions {
    pub instructions: Vec<Instruction>,
}
