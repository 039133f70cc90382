use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::model::Strategy;

/// How a summary is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SummaryLevel {
    /// From the session's notes; no model call.
    SessionMemory,
    /// One model call.
    Full,
    /// Structured extraction; no model, no network.
    Embedded,
}

impl SummaryLevel {
    pub const ALL: [Self; 3] = [Self::SessionMemory, Self::Full, Self::Embedded];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionMemory => "session_memory",
            Self::Full => "full",
            Self::Embedded => "embedded",
        }
    }
}

/// What caused a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactionTrigger {
    /// The window was nearly full.
    Auto,
    /// A person or a client asked for it.
    Manual,
    /// The provider rejected a prompt as too long.
    Reactive,
    /// The agent compacted the session itself, and recorded no reason or a different one.
    #[serde(other)]
    Recorded,
}

/// How the summary of a compaction was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactionLevel {
    /// From the session's notes.
    SessionMemory,
    /// By a model.
    Full,
    /// By the built-in algorithm.
    Embedded,
    /// By the agent itself.
    #[serde(other)]
    Recorded,
}

impl From<SummaryLevel> for CompactionLevel {
    fn from(level: SummaryLevel) -> Self {
        match level {
            SummaryLevel::SessionMemory => Self::SessionMemory,
            SummaryLevel::Full => Self::Full,
            SummaryLevel::Embedded => Self::Embedded,
        }
    }
}

/// How to compact a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct CompactRequest {
    /// What the summary should focus on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// If absent, the first level that works, in the order `session_memory`, `full`, `embedded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<SummaryLevel>,
    /// Maximum size of the summary in tokens, counted as 4 bytes each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_tokens: Option<u64>,
    /// Change nothing, and return the compaction that would be made now. A model is called if the level needs one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// A range of messages, both ends included.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Covers {
    pub first_seq: u64,
    pub last_seq: u64,
}

/// What a compaction added after its summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RestoredKind {
    File,
    Plan,
    Skill,
    Agent,
    Tool,
    Instructions,
    Hook,
}

/// Something added after the summary, because the prompt would have lost it otherwise.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RestoredItem {
    pub kind: RestoredKind,
    pub name: String,
    pub tokens: u64,
    /// The content exceeded its budget: the prompt contains only its beginning, or only its name if `tokens` is 0.
    pub truncated: bool,
}

/// What the fidelity score is based on.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct FidelityDetail {
    /// Number of names that were checked: names that occurred more than once, at most the 300 most likely to be needed.
    pub names: u64,
    /// Number of the checked names that the new prompt still contains.
    pub kept: u64,
    /// Names that the new prompt no longer contains; at most the 12 most likely to be needed.
    pub lost: Vec<String>,
    /// How well the compaction turned out, once the session has continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindsight: Option<Hindsight>,
}

/// How well a compaction turned out: how many of the names that were used before the compaction, and again in the next 40
/// messages, were still in the prompt right after it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Hindsight {
    /// Share of the names used before and after the compaction that the prompt contained, from 0 to 1.
    pub score: f64,
    /// Number of names used before and after the compaction.
    pub names: u64,
    /// Number of names used before and after the compaction that the prompt contained.
    pub kept: u64,
    /// The names used before and after the compaction that the prompt did not contain.
    pub lost: Vec<String>,
}

/// One compaction of a session.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Compaction {
    pub id: Uuid,
    pub trigger: CompactionTrigger,
    pub level: CompactionLevel,
    pub covers: Covers,
    /// Position of the first message that the summary does not replace.
    pub kept_from_seq: u64,
    /// Size of the prompt before the compaction, in tokens.
    pub tokens_before: u64,
    /// Size of the prompt after the compaction, in tokens.
    pub tokens_after: u64,
    /// The text that replaces the messages.
    pub summary: String,
    /// Number of tokens in the summary.
    pub summary_tokens: u64,
    /// Share of the repeatedly used names that the new prompt still contains, from 0 to 1, weighted by expected need.
    pub fidelity: f64,
    pub fidelity_detail: FidelityDetail,
    /// Why the fidelity is low or has fallen, or which names were missing after the previous compaction; absent if nothing is
    /// wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// What was added after the summary.
    pub restored: Vec<RestoredItem>,
    /// Levels that were tried first, and why each was rejected, such as a failure of the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<String>,
    pub created_at: String,
    /// When the compaction was undone, as RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_at: Option<String>,
}

/// A session's compactions, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Compactions {
    pub compactions: Vec<Compaction>,
}

/// A span of messages, and the short text that replaces it in prompts, now or when the window fills up.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Collapse {
    pub id: Uuid,
    pub covers: Covers,
    pub state: CollapseState,
    /// The short text.
    pub text: String,
    /// Estimated number of tokens that the messages take up in the prompt if they are not collapsed.
    pub tokens_before: u64,
    /// Estimated number of tokens in the text.
    pub tokens: u64,
    /// How the text was written.
    pub strategy: Strategy,
    /// When the text was ready, as RFC 3339.
    pub staged_at: String,
    /// When prompts began to show the text, as RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_at: Option<String>,
}

/// Whether prompts show the short text of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CollapseState {
    /// The text is ready, but prompts still show the messages.
    Staged,
    /// Prompts show the text.
    Committed,
}

/// The spans of a session for which a short text was written.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Collapses {
    pub collapses: Vec<Collapse>,
}
