use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::message::HistoryMessage;

/// Which level writes a summary, cheapest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SummaryLevel {
    /// From the notes that were taken on the way; no model call.
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

/// `POST /v1/sessions/{id}/compact`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct CompactRequest {
    /// What the summary should look at above all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The cheapest that works when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<SummaryLevel>,
    /// Upper bound of the summary, 4 bytes a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_tokens: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Covers {
    pub first_seq: u64,
    pub last_seq: u64,
}

/// Something that stands after the summary because the view would have lost it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RestoredItem {
    /// `file`, `plan`, `skill`, `agent`, `tool`, `instructions` or `hook`.
    pub kind: String,
    pub name: String,
    pub tokens: u64,
    /// Only named, since its content was over its budget.
    pub truncated: bool,
}

/// What the fidelity score was made from.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct FidelityDetail {
    /// Names that the covered stretch used again after their first mention.
    pub names: u64,
    pub kept: u64,
    /// The heaviest names that the new prompt no longer holds.
    pub lost: Vec<String>,
    /// How the cut proved, once the session has gone on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindsight: Option<Hindsight>,
}

/// Of the names that were used in the 40 messages after a cut and had been met before it, those that
/// could be read in the prompt right after it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Hindsight {
    /// Share, from 0 to 1.
    pub score: f64,
    pub names: u64,
    pub kept: u64,
    pub lost: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Compaction {
    pub id: Uuid,
    /// `auto`, `manual`, `reactive` or `recorded`.
    pub trigger: String,
    /// `session_memory`, `full`, `embedded` or `recorded`.
    pub level: String,
    pub covers: Covers,
    pub kept_from_seq: u64,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub summary: String,
    pub summary_tokens: u64,
    /// Share, from 0 to 1, of the names in use that can still be read after the cut.
    pub fidelity: f64,
    pub fidelity_detail: FidelityDetail,
    /// Fidelity is low or has fallen, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    pub restored: Vec<RestoredItem>,
    /// What was tried first, and why it was not taken; a model's failures too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<String>,
    pub created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_at: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Compactions {
    pub compactions: Vec<Compaction>,
}

/// `GET …/expand?q=`: the messages behind a summary, or those that a line of it is about.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Expanded {
    pub messages: Vec<HistoryMessage>,
    pub next_cursor: Option<String>,
}

/// Which of the messages behind a summary or a collapsed span to show.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExpandQuery {
    /// A line of the summary or the text; all messages without
    pub q: Option<String>,
    /// At most so many
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
    /// `next_cursor` of the page before
    pub cursor: Option<String>,
}

/// A span of messages and the short text that stands for it, or is ready to.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Collapse {
    pub id: Uuid,
    pub covers: Covers,
    pub state: CollapseState,
    pub text: String,
    /// Of the messages as the prompt showed them, and of the text; estimated.
    pub tokens_before: u64,
    pub tokens: u64,
    /// Who wrote the text: `embedded`, or a model's strategy.
    pub strategy: String,
    pub staged_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_at: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CollapseState {
    /// The text is ready.
    Staged,
    /// Prompts show it.
    Committed,
}

/// `GET /v1/sessions/{id}/collapses`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Collapses {
    pub collapses: Vec<Collapse>,
}
