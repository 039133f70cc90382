use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// The model that a session talks to; decides every threshold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelSpec {
    pub name: String,
    /// Tokens of the whole window, input and output.
    pub context_window: u64,
    /// Tokens that one answer may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// The provider checks thinking blocks against the prompt that they were made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserved_thinking: Option<bool>,
}

/// `POST /v1/sessions`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CreateSession {
    /// Absolute path of the working tree.
    pub project_dir: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The session that this one explores for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSpec>,
}

/// `PATCH /v1/sessions/{id}`: only what is given changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PatchSession {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSpec>,
}

/// `POST /v1/sessions/{id}/fork`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ForkRequest {
    /// Last message that the fork shares; the newest when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_seq: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Session {
    pub id: Uuid,
    pub project_dir: String,
    pub title: Option<String>,
    pub tags: Vec<String>,
    pub parent: Option<Uuid>,
    /// For a fork: the last message that it shares with its parent.
    pub forked_at_seq: Option<u64>,
    pub model: ModelSpec,
    /// Messages stored.
    pub messages: u64,
    pub last_seq: u64,
    /// RFC 3339.
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Project {
    pub project_dir: String,
    pub sessions: u64,
}

/// `GET /v1/projects`: those that have sessions.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Projects {
    pub projects: Vec<Project>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionsPage {
    pub sessions: Vec<Session>,
    pub next_cursor: Option<String>,
}

/// Which sessions to list; newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SessionQuery {
    /// Of this project only
    pub project_dir: Option<String>,
    /// Words in the title or the history
    pub q: Option<String>,
    /// With this tag only
    pub tag: Option<String>,
    /// At most so many
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
    /// `next_cursor` of the page before
    pub cursor: Option<String>,
}

/// `POST /v1/sessions/{id}/notes/update`: what was written.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NotesUpdate {
    /// Newest message that the notes cover.
    pub through_seq: u64,
    pub bytes: u64,
    pub strategy: String,
    pub updated_at: String,
}

/// Who tells what happened in its session.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HookQuery {
    /// `claude-code` if absent, `codex`, `gemini`, `cursor`
    pub client: Option<String>,
    /// An event that is sent again counts once
    #[serde(default, deserialize_with = "crate::query::given")]
    pub id: Option<Uuid>,
}
