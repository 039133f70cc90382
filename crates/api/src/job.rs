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
    /// For an import, an array with one `ImportFile` per file; for other kinds, an object.
    pub result: Option<serde_json::Value>,
    /// Why the job failed.
    pub error: Option<String>,
    pub created_at: String,
    pub updated_at: String,
}

/// Jobs, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Jobs {
    pub jobs: Vec<Job>,
}

/// A session file to import from disk.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ImportRequest {
    /// Absolute path of a session file.
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_dir: Option<String>,
}

/// A line of a session file that is stored but is not part of the conversation.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SkippedLine {
    /// Line number, from 1.
    pub line: u64,
    /// Why it is not part of the conversation.
    pub reason: String,
}

/// What was imported from one file.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ImportFile {
    pub file: String,
    pub session_id: Uuid,
    /// Messages of the main thread.
    pub messages: u64,
    /// Sessions created from side conversations.
    pub children: Vec<Uuid>,
    /// Lines that are stored unchanged but are not part of the conversation.
    pub skipped: Vec<SkippedLine>,
    /// Nothing was added, because the same file was imported before.
    #[serde(default)]
    pub already_imported: bool,
}
