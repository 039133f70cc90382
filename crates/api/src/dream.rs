use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    /// `embedded` or `model`.
    pub strategy: String,
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

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DreamStep {
    /// `orient`, `gather`, `consolidate` or `prune`.
    pub phase: String,
    pub file: String,
    pub what: String,
    pub why: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DreamNote {
    pub phase: String,
    pub text: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
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
