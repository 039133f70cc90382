//! How much of what mattered can still be read after a cut: foretold when it is made, by the predicted
//! need of names, and judged when the session has gone on, by what it did use again.

use std::collections::HashSet;

use bethink_context::{Decisions, History, View};
use bethink_names::{for_each_name, last_part};
use bethink_transcript::{Block, BlockKind, Message, ToolUseId};
use serde::{Deserialize, Serialize};

use bethink_facts::{Facts, RankedName};

/// Names that are looked at: the most needed ones of the covered stretch.
const NAMES: usize = 300;
/// Heaviest lost names that are told.
const LOST: usize = 12;

/// How many of the names that count can be read in a prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// Share of the names that the prompt still holds, 0 to 1: by their weight, or by their number in hindsight.
    pub score: f64,
    pub names: u64,
    pub kept: u64,
    pub lost: Vec<String>,
}

impl Fidelity {
    /// Counts a name; says whether it can be read.
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

/// Scores `view` against the names that `facts` found in use.
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
    // With no name in use there was nothing to lose.
    let score = if all > 0.0 { still / all } else { 1.0 };
    fidelity.score = rounded(score);
    fidelity
}

/// Messages after a cut by which it is judged: later ones are judged with later cuts.
pub const HORIZON: u64 = 40;
/// Fewer names than this say nothing.
const ENOUGH: u64 = 5;

/// How the boundary that is in force proved: of the names that were used after it and had been met before it, the
/// share that could be read in the prompt right after it. `None` while too little came after it.
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
            let whole = |id: &ToolUseId| decisions.result(id).is_none();
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

/// Names in what is said and in what tools are given; results are left out.
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

/// Adds the names that a reader of the block meets; `is_whole` tells of a result whether it is shown.
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

/// A score below this is told of, whatever came before it.
const LOW: f64 = 0.80;
/// So is one that fell by so much since the compaction before it.
const FALL: f64 = 0.08;
/// Names that a warning gives.
const TOLD: usize = 5;

/// What pressed a compaction together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pressure {
    /// Tokens of system and tools, which no compaction touches.
    pub fixed: u64,
    /// Tokens at which a compaction is due.
    pub auto: u64,
    pub summary: u64,
    /// Attempts with more room that were refused.
    pub refused: usize,
}

/// Why the score of `now` should worry somebody, or nothing. `before` is the score of the compaction
/// before it, `hindsight` how that one proved.
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
                "{} of {} names that were used after the last compaction could not be read after it: {}",
                missed.names - missed.kept,
                missed.names,
                told(&missed.lost)
            ));
        }
    };
    Some(format!("{what}: {}; no longer readable: {}", reason(pressure), told(&now.lost)))
}

fn reason(pressure: Pressure) -> String {
    let Pressure { fixed, auto, summary, refused } = pressure;
    if refused > 0 {
        format!("{refused} attempts with more room did not fit under {auto} tokens")
    } else if fixed * 3 > auto {
        format!("system and tools take {fixed} of {auto} tokens")
    } else {
        format!("more names are in use than a summary of {summary} tokens has room for")
    }
}

fn told(names: &[String]) -> String {
    names.iter().take(TOLD).map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn rounded(score: f64) -> f64 {
    (score * 10_000.0).round() / 10_000.0
}

/// Every name that a reader of the view meets.
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
