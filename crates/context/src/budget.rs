//! Stage 2: tool-result budget.
//!
//! A result is *fresh* until a prompt has shown it. A preview may replace it only while it is fresh; afterwards it is either
//! *replaced*, always with the same bytes, or *frozen*. This stage never changes what an earlier prompt showed.

use bethink_api::{PromptStage, StageReport};
use bethink_transcript::{BlockKind, Role, Seq, ToolSelection, ToolUseId};

use crate::collapse::in_view;
use crate::decision::{ClearedResult, Decision, Decisions};
use crate::history::History;
use crate::placeholder::{Hints, PREVIEW_BYTES};
use crate::stage;

/// Maximum size of a result that is shown in full, in characters.
pub const RESULT_CHARS: u64 = 50_000;
/// Maximum size of all results of one API message together, in characters.
pub const RESULTS_CHARS: u64 = 200_000;

#[derive(Clone, Debug)]
pub struct BudgetLimits {
    pub result_chars: u64,
    pub results_chars: u64,
    /// Tools whose results are never replaced: a preview of a file makes the model read it again.
    pub exempt: ToolSelection,
}

impl Default for BudgetLimits {
    fn default() -> Self {
        Self {
            result_chars: RESULT_CHARS,
            results_chars: RESULTS_CHARS,
            exempt: ToolSelection::new(["read"]),
        }
    }
}

struct ResultCandidate {
    id: ToolUseId,
    seq: Seq,
    chars: u64,
    tokens: u64,
    /// Whether a preview may still replace the result.
    fresh: bool,
}

/// Decides which fresh results of `history` a preview replaces.
pub fn decide(
    history: &History,
    decisions: &Decisions,
    limits: &BudgetLimits,
    hints: &Hints,
) -> (Vec<Decision>, Option<StageReport>) {
    let groups = groups(history, decisions, limits);
    let mut chosen: Vec<_> = groups.into_iter().flat_map(|group| choose(group, limits)).collect();
    chosen.sort_by_key(|c| c.seq);
    let before = chosen.iter().map(|c| c.tokens).sum();
    let shown =
        chosen.into_iter().filter_map(|ResultCandidate { id: tool_use_id, seq, .. }| {
            let message = &history.from(seq).first()?.message;
            let text = history.result(&tool_use_id, seq)?.text();
            let text = hints.preview(message, &tool_use_id, &text, limits.result_chars);
            Some(ClearedResult { tool_use_id, seq, text })
        });
    let shown: Vec<_> = shown.collect();
    let why = format!(
        "a result has more than {} characters, or the results of one message have more than {} in total",
        limits.result_chars, limits.results_chars
    );
    let report = stage::report(PromptStage::ToolResultBudget, before, &shown, why);
    (shown.into_iter().map(Decision::Replaced).collect(), report)
}

/// Returns the results in view, one group for each API message.
fn groups(
    history: &History,
    decisions: &Decisions,
    limits: &BudgetLimits,
) -> Vec<Vec<ResultCandidate>> {
    let mut groups: Vec<Vec<ResultCandidate>> = Vec::new();
    let mut open = None;
    for entry in in_view(history, decisions) {
        let message = &entry.message;
        if message.role == Role::Assistant {
            // Chunks of one message share a budget for results.
            if message.assistant_message_id.is_none() || message.assistant_message_id != open {
                open.clone_from(&message.assistant_message_id);
                groups.push(Vec::new());
            }
            continue;
        }
        if groups.is_empty() {
            groups.push(Vec::new());
        }
        for (block, facts) in entry.blocks() {
            let BlockKind::ToolResult { tool_use_id: id, .. } = &block.kind else { continue };
            let call = history.call(id, message.seq);
            let exempt = call.is_some_and(|call| limits.exempt.contains(&call.name, call.kind));
            if exempt || decisions.result(id, message.seq).is_some() {
                continue;
            }
            if let Some(group) = groups.last_mut() {
                group.push(ResultCandidate {
                    id: id.clone(),
                    seq: message.seq,
                    chars: u64::from(facts.result_chars),
                    tokens: u64::from(facts.tokens),
                    fresh: message.seq > decisions.shown_through(),
                });
            }
        }
    }
    groups
}

fn choose(mut group: Vec<ResultCandidate>, limits: &BudgetLimits) -> Vec<ResultCandidate> {
    let mut together: u64 = group.iter().map(|c| c.chars).sum();
    // Largest first, then oldest first: the choice must not depend on later messages.
    group.sort_by(|a, b| b.chars.cmp(&a.chars).then(a.seq.cmp(&b.seq)));
    group.retain(|candidate| {
        let over = candidate.chars > limits.result_chars || together > limits.results_chars;
        let replaced = over && candidate.fresh && candidate.chars > PREVIEW_BYTES as u64;
        together -= if replaced { candidate.chars } else { 0 };
        replaced
    });
    group
}
