//! Consolidation of a memory directory.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::memory::MemoryScope;
use crate::model::Strategy;

/// The memory to consolidate. The response is a job whose result is a `DreamResult`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DreamRequest {
    pub project_dir: String,
    /// `private` by default, or `person`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// Show what would change, but change nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Undo the changes of the last consolidation, except in topics that have been changed since.
    #[serde(default)]
    pub undo: bool,
}

/// What a consolidation found, changed and did not change.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DreamResult {
    pub project_dir: String,
    /// The memory directory.
    pub dir: String,
    pub dry_run: bool,
    /// An earlier consolidation was undone.
    pub undo: bool,
    pub strategy: Strategy,
    /// In the order of the phases.
    pub steps: Vec<DreamStep>,
    /// What the consolidation noted, such as problems that a person has to solve.
    pub notes: Vec<DreamNote>,
    /// Lines and sentences that were removed from the memory. Earlier versions still contain them.
    pub dropped: Vec<DreamDropped>,
    /// All changes, as a unified diff.
    pub diff: String,
    /// Files that were changed.
    pub applied: Vec<String>,
    /// A model's edits that were rejected, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Files that should have been changed but were not.
    pub left_alone: Vec<DreamLeft>,
}

/// The phases of a consolidation, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DreamPhase {
    /// Read the topics and the index.
    Orient,
    /// Find what was learned in sessions and is not in any topic yet.
    Gather,
    /// Merge related topics, mark outdated statements, remove duplicates.
    Consolidate,
    /// Update the index and remove empty topics.
    Prune,
}

/// One step of a consolidation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DreamStep {
    pub phase: DreamPhase,
    pub file: String,
    /// What was done.
    pub what: String,
    pub why: String,
}

/// Something that a consolidation noted, such as a problem that a person has to solve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DreamNote {
    pub phase: DreamPhase,
    pub text: String,
}

/// Text that a consolidation removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DreamDropped {
    pub file: String,
    pub text: String,
    pub why: String,
}

/// A file that a consolidation did not change, although it should have.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DreamLeft {
    pub file: String,
    pub why: String,
}
