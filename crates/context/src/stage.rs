//! What a stage says of itself.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageReport {
    pub stage: &'static str,
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// What it touched: tool_use ids or seqs.
    pub touched: Vec<String>,
    pub why: String,
}
