use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `application/problem+json` (RFC 9457): what was wrong, where, what is allowed, what to do.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The kind of problem.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    pub detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What fills the window, for `context_overflow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Box<crate::ContextReport>>,
    /// What stands there and what was to be written, where a write of a memory lost a race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Box<crate::BothVersions>>,
}
