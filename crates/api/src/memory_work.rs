//! Work over a project's whole memory: recall, extraction, lint, dreams, the memory tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{MemoryKind, MemoryOutcome, MemoryScope, Strategy};

/// `POST /v1/recall`: which memories help with something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallRequest {
    pub project_dir: String,
    /// What somebody said or wants to do, in any words.
    pub query: String,
    /// What this session has been told since its last compaction is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
    /// How to use these tools need not be told. Taken from the session where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent_tools: Option<Vec<String>>,
    /// At most so many; 5 are the most there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Memories that help, the best first; none where nothing fits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecallAnswer {
    pub memories: Vec<RecalledMemory>,
    /// Topics that were looked at.
    pub searched: u64,
    /// Who chose.
    pub strategy: Strategy,
}

/// One of them, as a prompt gets it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecalledMemory {
    pub scope: MemoryScope,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Absent where the file names none.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// In words.
    pub age: String,
    /// When the file was last written.
    pub modified: String,
    /// 0 to 1, the same in every directory.
    pub score: f64,
    /// Its body, 200 lines and 4,096 bytes at most.
    pub content: String,
    pub truncated: bool,
    /// Where all of it is.
    pub path: String,
    pub why: RecallWhy,
}

/// What a memory was chosen by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecallWhy {
    pub by: Strategy,
    /// Words of the query, as the index has them, that the topic holds; the most telling first.
    pub terms: Vec<RecallTerm>,
    /// Of the words alone.
    pub score: f64,
    /// Its place among what a model chose, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
}

/// A word, and the parts of the topic that hold it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallTerm {
    pub term: String,
    /// `name`, `description`, `heading`, `identifier`, `body`.
    pub fields: Vec<String>,
}

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
    pub scope: MemoryScope,
    pub name: String,
    /// `created`, `changed`, or `proposed` for the team.
    pub outcome: MemoryOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
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
    pub scope: MemoryScope,
    pub name: String,
    /// `removed` (it held nothing else), `restored` (as it was before the session) or `cut` (without its lines).
    pub outcome: MemoryOutcome,
    /// The lines that go.
    pub lines: Vec<String>,
    /// What stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// `GET /v1/memories/lint`: how a project's memory is, and what is wrong with it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MemoryLint {
    pub shelves: Vec<MemoryShelf>,
}

/// One memory directory of a project.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MemoryShelf {
    pub scope: MemoryScope,
    pub dir: String,
    /// `bethink` or `claude`.
    pub layout: String,
    /// Whether the directory is there; it is made by the first write.
    pub there: bool,
    pub topics: u64,
    /// Of all topics together.
    pub bytes: u64,
    /// Absent where there is no MEMORY.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<IndexSize>,
    /// `events`, or `polling` where the system has no watches left.
    pub watch: String,
    /// Why the directory can't be looked at; what is told is older then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The gravest first.
    pub findings: Vec<MemoryFinding>,
}

/// The size of an index, and which cap of a prompt it passes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IndexSize {
    pub lines: u64,
    pub bytes: u64,
    /// `lines` or `bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_by: Option<String>,
}

/// How much a finding matters, the most first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something that was written down is not found, or is not what it seems.
    Error,
    /// Found less well than it could be.
    Warning,
    /// Tidiness.
    Note,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryFinding {
    pub severity: Severity,
    /// Stable, for programs: `dead-link`.
    pub rule: String,
    /// Within the directory.
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    pub what: String,
    /// What a person can do.
    pub help: String,
}

/// `POST /v1/memories/rebuild`: MEMORY.md brought up to date with the topics.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RebuildMemory {
    pub project_dir: String,
    /// `private` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// Tells what would change, and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a rebuild changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MemoryRebuilt {
    pub scope: MemoryScope,
    /// Where the index lies.
    pub path: String,
    pub changed: bool,
    /// Nothing was written.
    pub dry_run: bool,
    /// Lines that came.
    pub added: Vec<String>,
    /// Lines that went.
    pub dropped: Vec<String>,
    pub warnings: Vec<String>,
}

/// `POST /v1/dream`. The answer is a job; its result is a [`DreamResult`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DreamRequest {
    pub project_dir: String,
    /// Looks, and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Puts back what the last dream changed, as far as nobody changed it since.
    #[serde(default)]
    pub undo: bool,
}

/// What a dream found, did and left.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DreamResult {
    pub project_dir: String,
    /// Where the memory lies.
    pub dir: String,
    pub dry_run: bool,
    pub undo: bool,
    pub strategy: Strategy,
    /// In order of their phases.
    pub steps: Vec<DreamStep>,
    /// What was seen and is left to a person.
    pub notes: Vec<DreamNote>,
    /// Lines and sentences that stand in no file any more; the versions before have them.
    pub dropped: Vec<DreamDropped>,
    /// Unified.
    pub diff: String,
    /// Files that were changed.
    pub applied: Vec<String>,
    /// Edits of a model that were left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Files that were to be changed and were not.
    pub left_alone: Vec<DreamLeft>,
}

/// The phases of a dream, in their order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DreamPhase {
    /// What is there.
    Orient,
    /// What sessions taught that no topic holds.
    Gather,
    /// What belongs together, what is outdated, what is said twice.
    Consolidate,
    /// The index, and what is empty.
    Prune,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DreamStep {
    pub phase: DreamPhase,
    pub file: String,
    pub what: String,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DreamNote {
    pub phase: DreamPhase,
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DreamDropped {
    pub file: String,
    pub text: String,
    pub why: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DreamLeft {
    pub file: String,
    pub why: String,
}

/// `POST /v1/memory-tool`: one call of Anthropic's memory tool, `memory_20250818`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryToolCall {
    pub project_dir: String,
    /// The tool's input as the model sent it: `{"command": "view", "path": "/memories"}`.
    #[schema(value_type = Object)]
    pub input: Value,
    /// The session that it was called in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
}

/// What the model is to be told, as the content of a `tool_result`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryToolResult {
    pub content: String,
    pub is_error: bool,
}
