use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::Role;

/// What to search for, and what a hit has to be.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// A question, or words to look for
    pub q: String,
    /// At most so many
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
    /// Of the user or the assistant only
    pub role: Option<String>,
    /// Calls of this tool and their results only
    pub tool: Option<String>,
    /// Calls about this path, or part of one, only
    pub path: Option<String>,
    /// From this time on, RFC 3339. Of a time of more than 100 days, or one without `after`, only the best messages are
    /// looked through
    pub after: Option<String>,
    /// Before this time, RFC 3339
    pub before: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SearchHit {
    pub session_id: Uuid,
    /// Title of the session, where a whole project was searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub seq: u64,
    pub message_id: String,
    pub role: Role,
    /// Higher is better; comparable within one answer only.
    pub score: f64,
    /// The part of the message that shows why it was found, on one line.
    pub snippet: String,
    /// Where words of the query stand in the snippet: start and end, in characters.
    #[serde(default)]
    pub highlights: Vec<[usize; 2]>,
    /// For a tool's result: the call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<AnsweredCall>,
    pub created_at: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AnsweredCall {
    pub seq: u64,
    pub tool: String,
    /// Beginning of what the tool was given.
    pub input: String,
}

/// Best first; nothing rather than what fits badly.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SearchHits {
    pub hits: Vec<SearchHit>,
    /// Everything was searched; `false` while an index is still being made, then ask again.
    #[serde(default = "whole")]
    pub complete: bool,
}

fn whole() -> bool {
    true
}
