use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::compaction::Covers;

/// A span of messages and the short text that stands for it, or is ready to.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Collapse {
    pub id: Uuid,
    pub covers: Covers,
    /// `staged`: prepared; `committed`: prompts show it.
    pub state: String,
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

/// `GET /v1/sessions/{id}/collapses`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Collapses {
    pub collapses: Vec<Collapse>,
}
