//! How much of what mattered can still be read after a cut.

use std::collections::HashSet;

use bethink_context::View;
use bethink_recall::{for_each_name, last_part};
use bethink_transcript::{Block, BlockKind};
use serde::{Deserialize, Serialize};

use bethink_facts::{Facts, Ranked};

/// Names that are looked at: the most needed ones of the covered stretch.
const NAMES: usize = 300;
/// Heaviest lost names that are told.
const LOST: usize = 12;

/// The score of one compaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// Share of the weight of the names in use that the new prompt still holds, 0 to 1.
    pub score: f64,
    pub names: u64,
    pub kept: u64,
    pub lost: Vec<String>,
}

/// Scores `view` against the names that `facts` found in use.
pub fn score(facts: &Facts, view: &View) -> Fidelity {
    let readable = names_of(view);
    let ranked = facts.names.ranked(&facts.moment());
    let used = ranked.iter().filter(|r| r.used.spoken > 0 && r.used.count > 1).take(NAMES);
    let (mut all, mut still) = (0.0, 0.0);
    let mut fidelity = Fidelity::default();
    for Ranked { name, need, .. } in used {
        let weight = f64::from(*need);
        all += weight;
        fidelity.names += 1;
        if readable.contains(*name) {
            still += weight;
            fidelity.kept += 1;
        } else if fidelity.lost.len() < LOST {
            fidelity.lost.push(facts.names.shown(name).to_owned());
        }
    }
    // With no name in use there was nothing to lose.
    let score = if all > 0.0 { still / all } else { 1.0 };
    fidelity.score = (score * 10_000.0).round() / 10_000.0;
    fidelity
}

/// Every name that a reader of the view meets.
fn names_of(view: &View) -> HashSet<String> {
    let mut names = HashSet::new();
    for shown in view.messages.iter().flat_map(|m| &m.blocks) {
        let block = Block::shown(shown.json.clone(), shown.kind.clone());
        match block.kind {
            // Providers drop the thinking of earlier turns.
            BlockKind::Thinking | BlockKind::RedactedThinking => {}
            BlockKind::ToolUse { .. } => {
                collect(&bethink_facts::readable(block.input()), &mut names);
            }
            _ => collect(&block.text(), &mut names),
        }
    }
    names
}

/// Adds the names of `text` to `names`.
pub fn collect(text: &str, names: &mut HashSet<String>) {
    for_each_name(text, |name| {
        let name = last_part(name);
        if !names.contains(name) {
            names.insert(name.to_owned());
        }
    });
}
