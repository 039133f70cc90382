//! Stage 2: tool-result budget.
//!
//! A result is *fresh* until a prompt showed it, and may be replaced by a preview as long as it is;
//! after that it is either *replaced*, the same bytes for ever, or *frozen*. So no prompt ever
//! changes what an earlier one said.

use std::collections::HashSet;

use bethink_transcript::{Role, Seq, ToolUseId};

use crate::collapse::in_view;
use crate::decision::{Decision, Decisions};
use crate::history::{BlockFacts, History};
use crate::placeholder::Hints;
use crate::stage::StageReport;

/// A single result over this is shown as a preview.
pub const RESULT_CHARS: u64 = 50_000;
/// All results of one API-level message together.
pub const RESULTS_CHARS: u64 = 200_000;

#[derive(Clone, Debug)]
pub struct BudgetLimits {
    pub result_chars: u64,
    pub results_chars: u64,
    /// Tools whose results are never replaced: a preview of a file makes the model read it again.
    pub exempt: HashSet<String>,
}

impl Default for BudgetLimits {
    fn default() -> Self {
        Self {
            result_chars: RESULT_CHARS,
            results_chars: RESULTS_CHARS,
            exempt: ["Read", "read", "read_file", "NotebookRead", "view"].map(str::to_owned).into(),
        }
    }
}

struct Candidate {
    id: ToolUseId,
    seq: Seq,
    chars: u64,
    tokens: u64,
    /// May still be replaced.
    fresh: bool,
}

/// Decides about the fresh results of `history`.
pub fn decide(
    history: &History,
    decisions: &Decisions,
    limits: &BudgetLimits,
    hints: &Hints,
) -> (Vec<Decision>, Option<StageReport>) {
    let mut chosen = Vec::new();
    for group in groups(history, decisions, limits) {
        chosen.extend(choose(group, limits));
    }
    if chosen.is_empty() {
        return (Vec::new(), None);
    }
    chosen.sort_by_key(|c| c.seq);
    let before: u64 = chosen.iter().map(|c| c.tokens).sum();
    let mut after = 0;
    let mut records = Vec::new();
    for candidate in &chosen {
        let Some(block) = history.result(&candidate.id, candidate.seq) else { continue };
        let text = hints.preview(&block.text(), candidate.seq);
        after += text.len() as u64 / 3;
        records.push(Decision::Replaced {
            tool_use_id: candidate.id.clone(),
            seq: candidate.seq,
            text,
        });
    }
    let report = StageReport {
        stage: "tool_result_budget",
        tokens_before: before,
        tokens_after: after,
        touched: chosen.iter().map(|c| c.id.to_string()).collect(),
        why: format!(
            "a result over {} characters, or results of one message over {} together",
            limits.result_chars, limits.results_chars
        ),
    };
    (records, Some(report))
}

/// The results in view, one group for each API-level message.
fn groups(history: &History, decisions: &Decisions, limits: &BudgetLimits) -> Vec<Vec<Candidate>> {
    let mut groups: Vec<Vec<Candidate>> = Vec::new();
    let mut open = None;
    for entry in in_view(history, decisions) {
        let message = &entry.message;
        if message.role == Role::Assistant {
            // Chunks of one message share their results' budget.
            if message.assistant_message_id.is_none() || message.assistant_message_id != open {
                open.clone_from(&message.assistant_message_id);
                groups.push(Vec::new());
            }
            continue;
        }
        if groups.is_empty() {
            groups.push(Vec::new());
        }
        for ((id, _, _), facts) in message.tool_results().zip(result_facts(entry)) {
            let exempt = history.call(id).is_some_and(|call| limits.exempt.contains(&*call.name));
            if exempt || decisions.result(id).is_some() {
                continue;
            }
            if let Some(group) = groups.last_mut() {
                group.push(Candidate {
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

fn result_facts(entry: &crate::history::Entry) -> impl Iterator<Item = &BlockFacts> {
    entry.blocks().filter_map(|(block, facts)| {
        matches!(block.kind, bethink_transcript::BlockKind::ToolResult { .. }).then_some(facts)
    })
}

fn choose(mut group: Vec<Candidate>, limits: &BudgetLimits) -> Vec<Candidate> {
    let mut together: u64 = group.iter().map(|c| c.chars).sum();
    // Largest first; among equals the older, so that the choice does not depend on what came later.
    group.sort_by(|a, b| b.chars.cmp(&a.chars).then(a.seq.cmp(&b.seq)));
    let mut chosen = Vec::new();
    for candidate in group {
        let over = candidate.chars > limits.result_chars || together > limits.results_chars;
        let worth = candidate.chars > crate::placeholder::PREVIEW_BYTES as u64;
        if over && candidate.fresh && worth {
            together -= candidate.chars;
            chosen.push(candidate);
        }
    }
    chosen
}
