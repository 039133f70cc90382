use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::Role;

/// What to search for, and which hits to return.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// A question, or words to look for
    pub q: String,
    /// Maximum number of entries
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
    /// Only messages from the `user` or the `assistant`
    #[param(value_type = Option<Role>)]
    pub role: Option<String>,
    /// Only calls to this tool and their results
    pub tool: Option<String>,
    /// Only calls about this path, and their results; part of a path is enough
    pub path: Option<String>,
    /// Only messages from this time on, RFC 3339. If the period has no start, or covers 100 days or more, only the best
    /// matches are checked against it, so some hits may be missing
    pub after: Option<String>,
    /// Only messages before this time, RFC 3339
    pub before: Option<String>,
}

/// A message that was found.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SearchHit {
    pub session_id: Uuid,
    /// Title of the session, if a whole project was searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub seq: u64,
    /// ID of the message.
    pub message_id: String,
    pub role: Role,
    /// Higher is better; only comparable within one answer.
    pub score: f64,
    /// The part of the message that matched: up to three lines, separated by line feeds.
    pub snippet: String,
    /// Positions of query words in the snippet: start and end, in characters.
    #[serde(default)]
    pub highlights: Vec<[usize; 2]>,
    /// For a tool result, the call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<AnsweredCall>,
    pub created_at: String,
    /// In a search of the team's history, the login of the person who shared the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// In a search of the team's history, the name of the team project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// The tool call that a result answers.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AnsweredCall {
    pub seq: u64,
    /// Name of the tool.
    pub tool: String,
    /// The beginning of its input.
    pub input: String,
}

/// What was found, best first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SearchHits {
    /// Best first; empty if nothing matches well.
    pub hits: Vec<SearchHit>,
    /// Whether everything was searched. This is `false` while an index is being built, and if the disk prevents an index
    /// from being written: search again later.
    #[serde(default = "whole")]
    pub complete: bool,
}

fn whole() -> bool {
    true
}
