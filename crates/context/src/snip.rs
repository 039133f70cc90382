//! Stage 3, optional and off by default: snip.
//!
//! Drops tool results that a later event made worthless: the read of a file that was read again or changed later, and
//! all but the last of identical consecutive calls. It changes parts that were already shown, so it frees room at the
//! cost of the provider's cache.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bethink_api::{PromptStage, StageReport};
use bethink_transcript::{BlockKind, ToolKind, ToolUseId};

use crate::collapse::in_view;
use crate::decision::{ClearedResult, Decision, Decisions};
use crate::history::History;
use crate::placeholder::Hints;
use crate::stage;

/// Minimum size of a result that is worth a placeholder, in tokens.
const WORTH_TOKENS: u32 = 120;

pub fn decide(
    history: &History,
    decisions: &Decisions,
    hints: &Hints,
) -> (Vec<Decision>, Option<StageReport>) {
    let worthless = worthless(history, decisions);
    let mut results = Vec::new();
    let mut before = 0;
    for entry in in_view(history, decisions) {
        for (block, facts) in entry.blocks() {
            let BlockKind::ToolResult { tool_use_id, .. } = &block.kind else { continue };
            let Some(why) = worthless.get(tool_use_id) else { continue };
            if decisions.result(tool_use_id, entry.message.seq).is_some()
                || facts.tokens < WORTH_TOKENS
            {
                continue;
            }
            let text = hints.snipped(entry.message.seq, why);
            before += u64::from(facts.tokens);
            results.push(ClearedResult {
                tool_use_id: tool_use_id.clone(),
                seq: entry.message.seq,
                text,
            });
        }
    }
    let why = "later events superseded these results".to_owned();
    let Some(report) = stage::report(PromptStage::Snip, before, &results, why) else {
        return (Vec::new(), None);
    };
    (vec![Decision::Snipped { results, made_after: history.last_seq() }], Some(report))
}

fn worthless(history: &History, decisions: &Decisions) -> HashMap<ToolUseId, String> {
    let mut found = HashMap::new();
    let mut last_read: HashMap<Arc<str>, ToolUseId> = HashMap::new();
    let mut previous: Option<(ToolUseId, String)> = None;
    let (mut answered, mut reused) = (HashSet::new(), HashSet::new());
    let entries = history.from(decisions.kept_from());
    for (id, _, _) in entries.iter().flat_map(|entry| entry.message.tool_results()) {
        if !answered.insert(id) {
            reused.insert(id);
        }
    }
    for entry in entries {
        let seq = entry.message.seq;
        for (id, name, block) in entry.message.tool_uses() {
            // It is not known which of several results an id stands for.
            if !answered.contains(id) || reused.contains(id) {
                continue;
            }
            let call = format!("{name} {}", block.input());
            if let Some((old, same)) = previous.replace((id.clone(), call.clone()))
                && same == call
            {
                found.insert(old, format!("the same {name} call was repeated in message {seq}"));
            }
            let Some(call) = history.call(id, seq.next()) else { continue };
            let (Some(kind), Some(path)) = (call.kind, call.path.clone()) else { continue };
            let (old, what) = match kind {
                ToolKind::Read => (last_read.insert(path, id.clone()), "read again"),
                kind if kind.changes_files() => (last_read.remove(&path), "changed"),
                _ => continue,
            };
            found.extend(old.map(|old| (old, format!("the file was {what} in message {seq}"))));
        }
    }
    found
}
