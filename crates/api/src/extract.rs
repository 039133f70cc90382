//! What sessions teach: looked for now, or taken back.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// `POST /v1/sessions/{id}/extract`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ExtractRequest {
    /// Show what would be written, and write nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// From the session's beginning, imported messages too; by default what came since the last extraction.
    #[serde(default)]
    pub all: bool,
}

/// What an extraction found and wrote.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Extracted {
    /// `embedded` or `model`; empty where there was nothing to look at.
    pub strategy: String,
    pub dry_run: bool,
    /// The end of the newest turn that was looked at; 0 where none has ended.
    pub through_seq: u64,
    /// The user's statements that were looked at.
    pub statements: u64,
    /// Statements of turns in which the agent wrote memory itself; they are passed over.
    pub by_agent: u64,
    pub memories: Vec<LearntMemory>,
    /// What teaches something and was not written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedStatement>,
    /// Requests of the user to forget something; which topics they mean is a person's to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forget: Vec<String>,
}

/// A memory that was written, or would be.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LearntMemory {
    pub scope: String,
    pub name: String,
    /// `created`, `changed`, or `proposed` for the team.
    pub outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The user's own words, where they were taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// The message in which they stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The whole file, in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A statement that was not written, and why.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DroppedStatement {
    pub seq: u64,
    /// Empty where it holds a secret.
    pub statement: String,
    pub reason: String,
}

/// `POST /v1/memories/forget`: take back what one session taught.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ForgetRequest {
    pub project_dir: String,
    pub session_id: Uuid,
    /// Show what would be done, and do nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What was taken back, or would be.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Forgotten {
    pub dry_run: bool,
    pub session_id: Uuid,
    pub files: Vec<ForgottenMemory>,
}

/// One topic of it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ForgottenMemory {
    pub scope: String,
    pub name: String,
    /// `removed` (it held nothing else), `restored` (as it was before the session) or `cut` (without its lines).
    pub outcome: String,
    /// The lines that go.
    pub lines: Vec<String>,
    /// What stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
