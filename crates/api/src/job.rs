use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Progress of a job.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct JobProgress {
    /// Number of units that are done.
    pub done: u64,
    /// Number of units in total.
    pub total: u64,
    /// `bytes`, `messages`, …
    pub unit: String,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    Queued,
    Running,
    Done,
    Failed,
}

/// Background work.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Job {
    pub id: Uuid,
    /// What the job does, such as `import` or `dream`.
    pub kind: String,
    pub state: JobState,
    pub progress: JobProgress,
    /// For an import, an array with one `ImportFile` per file, or an `AgentTranscripts`; for other kinds, an object.
    pub result: Option<serde_json::Value>,
    /// Why the job failed. For one job that has not ended: why it cannot go on now; it runs again when this is fixed.
    pub error: Option<String>,
    pub created_at: String,
    pub updated_at: String,
}

/// Jobs, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Jobs {
    pub jobs: Vec<Job>,
}

/// Sessions to import from disk.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ImportRequest {
    /// Absolute path of a session file. If `agent` is set, it may also be the path of a directory of session files, or
    /// of a database.
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_dir: Option<String>,
    /// The agent that wrote the file. If absent, the agent is recognized by the file's content. If set, the result of the job is an `AgentTranscripts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ImportedAgent>)]
    pub agent: Option<String>,
    /// Count the sessions and messages, but import nothing. Requires `agent`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// An agent whose sessions can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImportedAgent {
    ClaudeCode,
    Codex,
    Gemini,
    Qwen,
    Opencode,
    Pi,
    Cline,
    Continue,
}

/// The sessions of an agent that were found and imported.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct AgentTranscripts {
    #[schema(value_type = ImportedAgent)]
    pub agent: String,
    /// The file, directory or database that was read.
    pub path: String,
    /// Number of sessions with messages.
    pub sessions: u64,
    pub messages: u64,
    /// Time of the newest message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
    /// What was imported. Empty after a dry run.
    pub files: Vec<ImportFile>,
    /// Files that could not be read.
    pub unread: Vec<UnreadTranscript>,
}

/// A file that could not be read.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct UnreadTranscript {
    pub file: String,
    /// Why it could not be read.
    pub reason: String,
}

/// A line of a session file that is stored but is not part of the conversation.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SkippedLine {
    /// Line number, counted from 1.
    pub line: u64,
    /// Why it is not part of the conversation.
    pub reason: String,
}

/// What was imported from one file.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ImportFile {
    pub file: String,
    pub session_id: Uuid,
    /// Number of messages in the main thread.
    pub messages: u64,
    /// Sessions created from side conversations.
    pub children: Vec<Uuid>,
    /// Lines that are stored unchanged but are not part of the conversation.
    pub skipped: Vec<SkippedLine>,
    /// Nothing was added, because the same file was imported before.
    #[serde(default)]
    pub already_imported: bool,
}
