use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error as `application/problem+json` (RFC 9457).
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The kind of problem.
    #[serde(rename = "type")]
    pub kind: String,
    /// A title for this kind of problem.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong, and what is allowed.
    pub detail: String,
    /// The field, parameter or header that is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The maximum that was exceeded, or the minimum that was not reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The value that was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What fills the window, for `context_overflow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Box<crate::ContextReport>>,
    /// The current content and the content to write, if the memory was changed in the meantime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Box<crate::BothVersions>>,
}
