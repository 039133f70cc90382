use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct JobProgress {
    pub done: u64,
    pub total: u64,
    /// `bytes`, `messages`, …
    pub unit: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    Queued,
    Running,
    Done,
    Failed,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Job {
    pub id: Uuid,
    pub kind: String,
    pub state: JobState,
    pub progress: JobProgress,
    /// For an import: [`ImportFile`] in an array, one entry a file; for other kinds an object.
    pub result: Option<serde_json::Value>,
    pub error: Option<String>,
    pub created_at: String,
    pub updated_at: String,
}

/// `GET /v1/jobs`, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Jobs {
    pub jobs: Vec<Job>,
}

/// `POST /v1/import` with `application/json`; any other type is the JSONL itself.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ImportRequest {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_dir: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SkippedLine {
    /// From 1.
    pub line: u64,
    pub reason: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ImportFile {
    pub file: String,
    pub session_id: Uuid,
    /// Messages of the main thread.
    pub messages: u64,
    /// Sessions made from sidechains.
    pub children: Vec<Uuid>,
    /// Lines that are kept as they are and take no part in the conversation.
    pub skipped: Vec<SkippedLine>,
    /// The same bytes had been imported before; nothing was added.
    #[serde(default)]
    pub already_imported: bool,
}
