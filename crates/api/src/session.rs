use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::model::Strategy;

/// A session's model. All token limits depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelSpec {
    /// Name of the model.
    pub name: String,
    /// Size of the context window in tokens, input and output together.
    pub context_window: u64,
    /// Maximum output tokens of one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Whether the provider rejects thinking blocks that were written for another prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserved_thinking: Option<bool>,
}

/// Tag of a session that repeats a recorded one. Nothing is learned from it unless a person asks for it.
pub const REPLAY_TAG: &str = "replay";

/// A session to create.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CreateSession {
    /// Absolute path of the working tree.
    pub project_dir: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The session that starts this one as a subagent or an exploration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSpec>,
}

/// Changes to a session. Absent fields are not changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PatchSession {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSpec>,
}

/// Where to fork a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ForkRequest {
    /// The last message that the fork shares with this session; if absent, the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_seq: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// One conversation with an agent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Session {
    pub id: Uuid,
    pub project_dir: String,
    pub title: Option<String>,
    pub tags: Vec<String>,
    /// The session that this one was forked from, or that started it as a subagent or an exploration.
    pub parent: Option<Uuid>,
    /// For a fork, the last message that it shares with its parent.
    pub forked_at_seq: Option<u64>,
    pub model: ModelSpec,
    /// Number of messages.
    pub messages: u64,
    /// Position of the newest message.
    pub last_seq: u64,
    pub created_at: String,
    pub updated_at: String,
    /// Name of the team project that the session is shared with. Only in the answers to `GET /v1/sessions` and `GET /v1/sessions/{id}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<String>,
    /// Only in the answer to `GET /v1/sessions/{id}`, and only if an agent feeds the session through hooks or the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSession>,
    /// Sessions of its subagents and explorations, oldest first. Only in the answer to `GET /v1/sessions/{id}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Uuid>,
}

/// How an exploration ends.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ConcludeRequest {
    /// The text to add to the parent; by default, the child's last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// The summary of an exploration, which was added to its parent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Concluded {
    pub parent: Uuid,
    /// The parent's message after which prompts show the summary.
    pub after_seq: u64,
    pub summary: String,
}

/// An agent's own session.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentSession {
    /// The agent, such as `claude-code`.
    pub name: String,
    pub id: String,
}

/// What happened to a session as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionLifecycle {
    Created,
    /// Its title, tags or model changed.
    Changed,
    Deleted,
}

/// A project that has sessions or memories.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Project {
    pub project_dir: String,
    /// Number of its sessions.
    pub sessions: u64,
}

/// The projects that have sessions or memories.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Projects {
    pub projects: Vec<Project>,
}

/// Sessions, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionsPage {
    pub sessions: Vec<Session>,
    pub next_cursor: Option<String>,
}

/// Which sessions to list; newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SessionQuery {
    /// Absolute path of a directory. Only sessions of its project: all worktrees of the repository, their subdirectories, and clones on other machines
    pub project_dir: Option<String>,
    /// `true`: only sessions that began in `project_dir` itself, not in the rest of its project
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    pub exact_dir: bool,
    /// Text that the title or the ID contains; case does not matter in titles
    pub q: Option<String>,
    /// Only sessions with this tag
    pub tag: Option<String>,
    /// Only forks and children of this session
    #[serde(default, deserialize_with = "crate::query::given")]
    pub parent: Option<Uuid>,
    /// Maximum number of entries
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
    /// `next_cursor` of the previous page
    pub cursor: Option<String>,
}

/// Who or what wrote the notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotesAuthor {
    /// The built-in algorithm.
    Embedded,
    Model,
    Person,
}

impl From<Strategy> for NotesAuthor {
    fn from(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Embedded => Self::Embedded,
            Strategy::Model => Self::Model,
        }
    }
}

/// What an update wrote to the notes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NotesUpdate {
    /// Position of the newest message that the notes cover.
    pub through_seq: u64,
    /// Size of the notes.
    pub bytes: u64,
    /// How the notes were written.
    pub strategy: Strategy,
    pub updated_at: String,
}

/// An agent that can report hook events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookAgent {
    ClaudeCode,
    Codex,
    Gemini,
    Cursor,
    Qwen,
}

/// Which agent reports a hook event, and under which ID.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HookQuery {
    /// The agent that reports the event [default: `claude-code`]
    #[param(value_type = Option<HookAgent>)]
    pub client: Option<String>,
    /// ID of the event. Events with the same ID are counted once
    #[serde(default, deserialize_with = "crate::query::given")]
    pub id: Option<Uuid>,
}
