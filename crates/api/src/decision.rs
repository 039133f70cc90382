use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/sessions/{id}/decisions`: what makes prompts differ from the history, oldest first. Compactions and
/// collapsed spans have routes of their own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Decisions {
    pub decisions: Vec<DecidedView>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecidedView {
    /// `attached` or `instructed`: a text stands after a message. `replaced`, `cleared` or `snipped`: results are
    /// shown shorter or not at all. `stripped`: blocks that the provider would not take.
    pub kind: String,
    /// The message that an attached text stands after; else the newest one when it was decided.
    pub after_seq: u64,
    /// Of an attached text: `memory`, `todos`, `file`, `plan`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Of an attached text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The messages that are shown otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seqs: Vec<u64>,
    pub at: String,
}
