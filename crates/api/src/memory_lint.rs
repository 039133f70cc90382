//! The state of a memory directory, and its index.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::memory::{IndexLimit, MemoryScope};

/// The state of a project's memory, and what is wrong with it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MemoryLint {
    /// One entry per memory directory.
    pub shelves: Vec<MemoryShelf>,
}

/// One memory directory of a project.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MemoryShelf {
    pub scope: MemoryScope,
    pub dir: String,
    pub layout: MemoryLayout,
    /// Whether the directory exists. The first write creates it.
    pub there: bool,
    pub topics: u64,
    /// Total size of all topics, in bytes.
    pub bytes: u64,
    /// Absent if there is no MEMORY.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<IndexSize>,
    pub watch: MemoryWatch,
    /// Why the directory cannot be read. The other fields are then out of date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Most severe first.
    pub findings: Vec<MemoryFinding>,
}

/// Where memory directories are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryLayout {
    /// Below the daemon's home.
    #[default]
    Bethink,
    /// Where Claude Code keeps its own memory.
    Claude,
}

/// How the daemon notices that a file changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryWatch {
    /// The system reports changes.
    #[default]
    Events,
    /// The daemon checks the files every few seconds, because the system does not report changes.
    Polling,
}

/// The size of an index, and which limit it exceeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IndexSize {
    pub lines: u64,
    pub bytes: u64,
    /// The limit that the index exceeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_by: Option<IndexLimit>,
}

/// How severe a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A memory cannot be found or read, or contains invisible characters.
    Error,
    /// A memory is harder to find than necessary.
    Warning,
    /// A matter of tidiness.
    Note,
}

/// One problem in a memory directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryFinding {
    pub severity: Severity,
    /// A stable name for programs, such as `dead-link`.
    pub rule: String,
    /// Path in the directory.
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What is wrong.
    pub what: String,
    /// What a person can do about it.
    pub help: String,
}

/// Which `MEMORY.md` to bring up to date with the topics.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RebuildMemory {
    pub project_dir: String,
    /// `private` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// Show what would change, but change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a rebuild of the index changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MemoryRebuilt {
    pub scope: MemoryScope,
    /// Path of the index.
    pub path: String,
    /// Whether the index changed, or would change.
    pub changed: bool,
    /// Nothing was written.
    pub dry_run: bool,
    /// Lines that were added.
    pub added: Vec<String>,
    /// Lines that were removed.
    pub dropped: Vec<String>,
    pub warnings: Vec<String>,
}
