//! Stage 3, optional and off: history snip.
//!
//! Drops payloads that a later event made worthless: the read of a file that was read again or
//! changed later, and all but the last of identical consecutive calls. It changes what was shown, so
//! it costs the provider's cache; who switches it on wants room more.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bethink_transcript::{BlockKind, Seq, ToolUseId};

use crate::collapse::in_view;
use crate::decision::{ClearedResult, Decision, Decisions};
use crate::history::History;
use crate::placeholder::Hints;
use crate::stage::StageReport;

const READS: [&str; 4] = ["Read", "read", "read_file", "view"];
const WRITES: [&str; 8] =
    ["Edit", "MultiEdit", "Write", "NotebookEdit", "edit", "write", "edit_file", "write_file"];
/// Payloads smaller than this are not worth a placeholder.
const WORTH_TOKENS: u32 = 120;

pub fn decide(
    history: &History,
    decisions: &Decisions,
    hints: &Hints,
) -> (Vec<Decision>, Option<StageReport>) {
    let worthless = worthless(history, decisions);
    let mut results = Vec::new();
    let (mut before, mut after) = (0u64, 0u64);
    for entry in in_view(history, decisions) {
        for (block, facts) in entry.blocks() {
            let BlockKind::ToolResult { tool_use_id, .. } = &block.kind else { continue };
            let Some(why) = worthless.get(tool_use_id) else { continue };
            if decisions.result(tool_use_id).is_some() || facts.tokens < WORTH_TOKENS {
                continue;
            }
            let text = hints.snipped(entry.message.seq, why);
            before += u64::from(facts.tokens);
            after += text.len() as u64 / 3;
            results.push(ClearedResult {
                tool_use_id: tool_use_id.clone(),
                seq: entry.message.seq,
                text,
            });
        }
    }
    if results.is_empty() {
        return (Vec::new(), None);
    }
    let report = StageReport {
        stage: "snip",
        tokens_before: before,
        tokens_after: after,
        touched: results.iter().map(|r| r.tool_use_id.to_string()).collect(),
        why: "a later event made these payloads worthless".to_owned(),
    };
    (vec![Decision::Snipped { results, made_after: history.last_seq() }], Some(report))
}

fn worthless(history: &History, decisions: &Decisions) -> HashMap<ToolUseId, String> {
    let mut found = HashMap::new();
    let mut last_read: HashMap<Arc<str>, ToolUseId> = HashMap::new();
    let mut previous: Option<(ToolUseId, String)> = None;
    let answered: HashSet<&ToolUseId> = history
        .from(decisions.kept_from())
        .iter()
        .flat_map(|e| e.message.tool_results().map(|(id, _, _)| id))
        .collect();
    for entry in history.from(decisions.kept_from()) {
        for (id, name, block) in entry.message.tool_uses() {
            if !answered.contains(id) {
                continue;
            }
            let call = format!("{name} {}", block.input());
            if let Some((old, same)) = previous.take()
                && same == call
            {
                found.insert(
                    old,
                    format!("the same {name} call was repeated in message {}", entry.message.seq),
                );
            }
            previous = Some((id.clone(), call));
            let Some(path) = history.call(id).and_then(|c| c.path.clone()) else { continue };
            supersede(&mut found, &mut last_read, name, path, id, entry.message.seq);
        }
    }
    found
}

fn supersede(
    found: &mut HashMap<ToolUseId, String>,
    last_read: &mut HashMap<Arc<str>, ToolUseId>,
    name: &str,
    path: Arc<str>,
    id: &ToolUseId,
    seq: Seq,
) {
    if READS.contains(&name) {
        if let Some(old) = last_read.insert(path, id.clone()) {
            found.insert(old, format!("the file was read again in message {seq}"));
        }
    } else if WRITES.contains(&name)
        && let Some(old) = last_read.remove(&path)
    {
        found.insert(old, format!("the file was changed in message {seq}"));
    }
}
