//! Fidelity: the share of the names in use that can still be read after a compaction. It is predicted when the
//! compaction is made, from the expected need for names, and measured later, from the names that were used again.

use std::collections::HashSet;

use bethink_context::{Decisions, History, View};
use bethink_names::{for_each_name, last_part};
use bethink_transcript::{Block, BlockKind, Message, ToolUseId};
use serde::{Deserialize, Serialize};

use bethink_facts::{Facts, RankedName};

/// Number of names that are checked, most needed first.
const NAMES: usize = 300;
/// Number of lost names that are recorded, most needed first.
const LOST: usize = 12;

/// How many of the needed names can be read in a prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// Share of the names that are still in the prompt, 0 to 1: weighted by need when predicted, by number when measured.
    pub score: f64,
    pub names: u64,
    pub kept: u64,
    pub lost: Vec<String>,
}

impl Fidelity {
    /// Counts a name; returns whether it can be read.
    fn count(&mut self, name: &str, readable: &HashSet<String>, facts: &Facts) -> bool {
        let is_kept = readable.contains(name);
        self.names += 1;
        self.kept += u64::from(is_kept);
        if !is_kept && self.lost.len() < LOST {
            self.lost.push(facts.names.shown(name).to_owned());
        }
        is_kept
    }
}

/// Scores `view` against the names in use according to `facts`.
pub fn score(facts: &Facts, view: &View) -> Fidelity {
    let readable = names_of(view);
    let ranked = facts.names.ranked(&facts.moment());
    let used = ranked.iter().filter(|r| r.used.spoken > 0 && r.used.count > 1).take(NAMES);
    let (mut all, mut still) = (0.0, 0.0);
    let mut fidelity = Fidelity::default();
    for RankedName { name, need, .. } in used {
        let weight = f64::from(*need);
        all += weight;
        still += if fidelity.count(name, &readable, facts) { weight } else { 0.0 };
    }
    // Without names in use, nothing was lost.
    let score = if all > 0.0 { still / all } else { 1.0 };
    fidelity.score = rounded(score);
    fidelity
}

/// Number of messages after a compaction in which its fidelity is measured; later ones belong to later compactions.
pub const HORIZON: u64 = 40;
/// Minimum number of names for a meaningful score.
const ENOUGH: u64 = 5;

/// Measures how well the compaction in force turned out: the share of the names used after the compaction that could be read
/// in the first prompt after it. Only names that also occurred before the compaction count. Returns `None` if too few such
/// names were used since.
pub fn look_back(history: &History, decisions: &Decisions, facts: &Facts) -> Option<Fidelity> {
    let boundary = decisions.boundary.as_ref()?;
    let tail = history.from(boundary.kept_from).iter();
    let hidden = |seq| decisions.span_of(seq).filter(|span| span.made_after <= boundary.made_after);
    let mut readable = HashSet::new();
    collect(&boundary.summary, &mut readable);
    boundary.restored.iter().for_each(|what| collect(&what.text, &mut readable));
    let (mut wanted, mut again) = (Vec::new(), HashSet::new());
    for entry in tail {
        let (message, seq) = (&entry.message, entry.message.seq);
        if let Some(span) = hidden(seq) {
            collect(&span.text, &mut readable);
        } else if seq <= boundary.made_after {
            let whole = |id: &ToolUseId| decisions.result(id, seq).is_none();
            message.blocks.iter().for_each(|block| read(block, whole, &mut readable));
        } else if seq.0 <= boundary.made_after.0 + HORIZON {
            for_each_spoken(message, |name| {
                let known = facts.names.get(name).is_some_and(|n| n.first <= boundary.made_after);
                if known && again.insert(name.to_owned()) {
                    wanted.push(name.to_owned());
                }
            });
        }
    }
    let mut found = Fidelity::default();
    for name in wanted {
        found.count(&name, &readable, facts);
    }
    found.score = rounded(found.kept as f64 / found.names.max(1) as f64);
    (found.names >= ENOUGH).then_some(found)
}

/// Calls `each` with the names in text blocks and in the input of tool calls, but not those in results.
fn for_each_spoken(message: &Message, mut each: impl FnMut(&str)) {
    for block in &message.blocks {
        let text = match &block.kind {
            BlockKind::Text => block.text().into_owned(),
            BlockKind::ToolUse { .. } => bethink_facts::readable(block.input()),
            _ => continue,
        };
        for_each_name(&text, |name| each(last_part(name)));
    }
}

/// Adds the names that can be read in the block; `is_whole` tests whether a result is shown in full.
pub(crate) fn read(
    block: &Block,
    is_whole: impl Fn(&ToolUseId) -> bool,
    names: &mut HashSet<String>,
) {
    match &block.kind {
        // Providers drop the thinking of earlier turns.
        BlockKind::Thinking | BlockKind::RedactedThinking => {}
        BlockKind::ToolUse { .. } => collect(&bethink_facts::readable(block.input()), names),
        BlockKind::ToolResult { tool_use_id, .. } if !is_whole(tool_use_id) => {}
        _ => collect(&block.text(), names),
    }
}

/// A score below this causes a warning.
const LOW: f64 = 0.80;
/// A drop of this much since the previous compaction also causes a warning.
const FALL: f64 = 0.08;
/// Number of lost names that a warning lists.
const LISTED: usize = 5;

/// The limits on the size of a compaction's result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pressure {
    /// Number of tokens in the system prompt and tools, which no compaction changes.
    pub fixed: u64,
    /// Number of tokens at which a compaction is due.
    pub auto: u64,
    pub summary: u64,
    /// Number of earlier attempts at this compaction that were rejected.
    pub refused: usize,
}

/// Returns a warning about the score of `now`, if a warning is needed. `before` is the predicted score of the previous
/// compaction, `hindsight` its measured one.
pub fn warning(
    now: &Fidelity,
    before: Option<f64>,
    hindsight: Option<&Fidelity>,
    pressure: Pressure,
) -> Option<String> {
    let what = match before {
        Some(before) if before - now.score >= FALL => {
            format!("fidelity fell from {before:.2} to {:.2}", now.score)
        }
        _ if now.score < LOW && now.names >= ENOUGH => format!("fidelity is {:.2}", now.score),
        _ => {
            let missed = hindsight.filter(|h| h.score < LOW)?;
            return Some(format!(
                "after the previous compaction, the prompt lacked {} of the {} names that were used later: {}",
                missed.names - missed.kept,
                missed.names,
                listed(&missed.lost)
            ));
        }
    };
    Some(format!("{what}: {}; no longer in the prompt: {}", reason(pressure), listed(&now.lost)))
}

fn reason(pressure: Pressure) -> String {
    let Pressure { fixed, auto, summary, refused } = pressure;
    if refused > 0 {
        match refused {
            1 => "1 earlier attempt at this compaction was rejected".to_owned(),
            more => format!("{more} earlier attempts at this compaction were rejected"),
        }
    } else if fixed * 3 > auto {
        format!(
            "the system prompt and the tools take {fixed} tokens, and compaction starts at {auto} tokens"
        )
    } else {
        format!("the summary ({summary} tokens) does not contain all names in use")
    }
}

fn listed(names: &[String]) -> String {
    names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn rounded(score: f64) -> f64 {
    (score * 10_000.0).round() / 10_000.0
}

/// Returns every name that can be read in the view.
fn names_of(view: &View) -> HashSet<String> {
    let mut names = HashSet::new();
    for shown in view.messages.iter().flat_map(|m| &m.blocks) {
        read(&Block::shown(shown.json.clone(), shown.kind.clone()), |_| true, &mut names);
    }
    names
}

pub fn collect(text: &str, names: &mut HashSet<String>) {
    for_each_name(text, |name| {
        let name = last_part(name);
        if !names.contains(name) {
            names.insert(name.to_owned());
        }
    });
}
