//! Extracting memories from a session, and removing the memories of a session.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::candidate::Candidate;
use crate::memory::{MemoryKind, MemoryOutcome, MemoryScope};

/// What to extract memories from.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ExtractRequest {
    /// Show what would be written, but write nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Start at the beginning of the session, including imported messages; by default, where the last extraction ended.
    #[serde(default)]
    pub all: bool,
}

/// What an extraction found and wrote.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Extracted {
    /// Absent if there was nothing to process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<crate::Strategy>,
    pub dry_run: bool,
    /// Position of the last message of the newest turn processed; 0 if no turn has ended.
    pub through_seq: u64,
    /// Number of the user's statements that were processed.
    pub statements: u64,
    /// Number of statements that were skipped because the agent itself wrote to memory in that turn.
    pub by_agent: u64,
    /// Memories that were written or, in a dry run, would be.
    pub memories: Vec<LearnedMemory>,
    /// Statements that may be worth remembering. They wait for a decision, unless this was a dry run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    /// Statements worth remembering that were not written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedStatement>,
    /// The user's requests to forget something. A person has to decide which topics are meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forget: Vec<String>,
}

/// A memory that was written or, in a dry run, would be.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LearnedMemory {
    pub scope: MemoryScope,
    pub name: String,
    /// `created`, `changed`, or `proposed` for the team.
    pub outcome: MemoryOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// The user's own words, if they were used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// Position of the message that contains these words.
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
    /// The statement; empty if it contains a secret.
    pub statement: String,
    /// Why it was not written.
    pub reason: String,
}

/// A session whose memories to remove.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ForgetRequest {
    pub project_dir: String,
    pub session_id: Uuid,
    /// Show what would be done, but do nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What was removed or, in a dry run, would be.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Forgotten {
    pub dry_run: bool,
    pub session_id: Uuid,
    /// The topics that change.
    pub files: Vec<ForgottenMemory>,
    /// Candidates of the session that were still waiting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
}

/// A topic from which a session's memories are removed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ForgottenMemory {
    pub scope: MemoryScope,
    pub name: String,
    /// `removed` if the topic contained nothing else, `restored` if it is now as it was before the session, or `cut` if only
    /// the lines of the session were removed.
    pub outcome: MemoryOutcome,
    /// The lines that are removed.
    pub lines: Vec<String>,
    /// The text that remains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
