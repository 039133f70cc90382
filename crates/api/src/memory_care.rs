use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/memories/lint`: how a project's memory is, and what is wrong with it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MemoryLint {
    pub shelves: Vec<MemoryShelf>,
}

/// One memory directory of a project.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MemoryShelf {
    /// `private` or `team`.
    pub scope: String,
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

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryFinding {
    /// `error`, `warning` or `note`.
    pub severity: String,
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
    /// `private` (default) or `team`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Tells what would change, and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a rebuild changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MemoryRebuilt {
    pub scope: String,
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
