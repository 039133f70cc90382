use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::memory::{MemoryAuthor, MemoryKind, MemoryScope};

/// The state of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CandidateState {
    Waiting,
    /// A memory was written from the candidate.
    Kept,
    Dropped,
}

/// A statement by the user that may be worth remembering. It is not recalled until it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Candidate {
    pub id: Uuid,
    pub project_dir: String,
    /// The user's own words.
    pub sentence: String,
    /// The preceding sentence, by the assistant or the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The type of the memory if this candidate is kept.
    #[serde(rename = "type")]
    pub kind: MemoryKind,
    /// The rule that found the statement.
    pub rule: String,
    /// Estimated value of the statement for later work. Only the 5 highest-scoring candidates of a session are stored.
    pub score: i64,
    pub session_id: Uuid,
    /// Position of the message that contains the statement.
    pub seq: u64,
    /// ID of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// When the user said it, as RFC 3339.
    pub said_at: String,
    pub state: CandidateState,
    /// When the candidate was kept or dropped, as RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
    /// Who kept or dropped the candidate; `extraction` if the user said the same in a second session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<MemoryAuthor>,
    /// Name of the topic that was written from the candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
}

/// Candidates, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Candidates {
    pub candidates: Vec<Candidate>,
    /// Number of candidates that were removed without a decision, because too many newer ones were waiting.
    #[serde(default)]
    pub removed: u64,
}

/// The request to keep a candidate: what the new memory says.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct KeepCandidate {
    /// What to remember, if the user's words need rewording. The topic quotes the original words as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The topic's name; derived from the text if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A one-line description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Questions that the memory answers, worded differently from its text: at most 5, of up to 200 characters each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// By default `person` for the type `user`, else `private`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
}

/// Which candidates to list, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CandidateQuery {
    /// Any directory of the project
    pub project_dir: String,
    /// `true`: include decided candidates
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    pub all: bool,
}
