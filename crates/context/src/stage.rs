//! The report of a stage that shortens results.

use bethink_api::{PromptStage, StageReport};

use crate::decision::ClearedResult;

/// Reports a stage that replaced `before` tokens with the texts of `results`; `None` if there are no results.
pub(crate) fn report(
    stage: PromptStage,
    before: u64,
    results: &[ClearedResult],
    why: String,
) -> Option<StageReport> {
    (!results.is_empty()).then(|| StageReport {
        stage,
        tokens_before: before,
        tokens_after: results.iter().map(|result| tokens_of(&result.text)).sum(),
        touched: results.iter().map(|result| result.tool_use_id.to_string()).collect(),
        why,
    })
}

/// Estimates the number of tokens in a text that replaces a result, accurately enough for a report.
pub(crate) fn tokens_of(text: &str) -> u64 {
    text.len() as u64 / 3
}
