//! Stage 4: microcompact. Old results of tools that can be called again are cleared.
//!
//! It runs when the session has been idle for so long that the provider's cache has expired, or by count if that is
//! configured. Otherwise it changes nothing.

use bethink_api::{PromptStage, StageReport};
use bethink_transcript::{BlockKind, ToolSelection, UnixMicros, Variant};

use crate::collapse::in_view;
use crate::decision::{ClearedResult, Decision, Decisions};
use crate::history::History;
use crate::placeholder::Hints;
use crate::stage;

pub const KEEP: usize = 5;

#[derive(Clone, Debug)]
pub struct MicrocompactLimits {
    pub idle_minutes: u64,
    pub keep: usize,
    /// Also clears results when more than this many are shown; 0 turns this off.
    pub above: usize,
    /// Tools whose results can be obtained again.
    pub tools: ToolSelection,
}

fn due(
    limits: &MicrocompactLimits,
    last_activity: Option<UnixMicros>,
    now: UnixMicros,
    shown: usize,
) -> Option<String> {
    let idle_micros =
        i64::try_from(limits.idle_minutes).unwrap_or(i64::MAX).saturating_mul(60_000_000);
    let idle = last_activity.map(|last| now.0.saturating_sub(last.0));
    match idle {
        Some(idle) if idle >= idle_micros => Some(format!(
            "idle for {}, so the provider's cache has expired",
            in_words(idle / 60_000_000)
        )),
        _ if limits.above > 0 && shown > limits.above => Some(format!(
            "prompts show {shown} tool results that can be obtained again; the limit is {}",
            limits.above
        )),
        _ => None,
    }
}

fn in_words(minutes: i64) -> String {
    const DAY: i64 = 24 * 60;
    match minutes {
        ..180 => format!("{minutes} minutes"),
        180..DAY => format!("{} hours", minutes / 60),
        DAY.. => format!("{} days", minutes / DAY),
    }
}

pub fn decide(
    history: &History,
    decisions: &Decisions,
    limits: &MicrocompactLimits,
    last_activity: Option<UnixMicros>,
    now: UnixMicros,
    hints: &Hints,
) -> (Vec<Decision>, Option<StageReport>) {
    let shown = shown_results(history, decisions, limits);
    let Some(why) = due(limits, last_activity, now, shown.len()) else { return (Vec::new(), None) };
    let old = shown.len().saturating_sub(limits.keep);
    let mut before = 0;
    let mut results = Vec::new();
    for (result, tokens) in shown.into_iter().take(old) {
        let text = hints.cleared(result.seq);
        // A result shorter than its placeholder stays: clearing it would add tokens.
        if tokens > stage::tokens_of(&text) {
            before += tokens;
            results.push(ClearedResult { text, ..result });
        }
    }
    let Some(report) = stage::report(PromptStage::Microcompact, before, &results, why) else {
        return (Vec::new(), None);
    };
    (vec![Decision::Cleared { results, made_after: history.last_seq() }], Some(report))
}

fn shown_results(
    history: &History,
    decisions: &Decisions,
    limits: &MicrocompactLimits,
) -> Vec<(ClearedResult, u64)> {
    let mut shown = Vec::new();
    for entry in in_view(history, decisions) {
        for (block, facts) in entry.blocks() {
            let BlockKind::ToolResult { tool_use_id, .. } = &block.kind else { continue };
            let call = history.call(tool_use_id, entry.message.seq);
            let again = call.is_some_and(|call| limits.tools.contains(&call.name, call.kind));
            let replaced = decisions.result(tool_use_id, entry.message.seq);
            if !again || replaced.is_some_and(|r| r.variant != Variant::Preview) {
                continue;
            }
            let tokens = replaced.map_or(facts.tokens, |r| r.tokens);
            let result = ClearedResult {
                tool_use_id: tool_use_id.clone(),
                seq: entry.message.seq,
                text: String::new(),
            };
            shown.push((result, u64::from(tokens)));
        }
    }
    shown
}
