//! What a stage that shortens results says of itself.

use bethink_api::StageReport;

use crate::decision::ClearedResult;

/// The report of a stage that shows `results` as their texts instead of `before` tokens; `None` without any.
pub(crate) fn report(
    stage: &str,
    before: u64,
    results: &[ClearedResult],
    why: String,
) -> Option<StageReport> {
    (!results.is_empty()).then(|| StageReport {
        stage: stage.to_owned(),
        tokens_before: before,
        tokens_after: results.iter().map(|result| tokens_of(&result.text)).sum(),
        touched: results.iter().map(|result| result.tool_use_id.to_string()).collect(),
        why,
    })
}

/// Tokens of a text that stands for a result, near enough for a report.
pub(crate) fn tokens_of(text: &str) -> u64 {
    text.len() as u64 / 3
}
