//! Chooses the most valuable statements for their size: those with needed names that occur nowhere else, with a reason,
//! or recent ones.

use std::collections::{HashMap, HashSet};

use bethink_facts::rows::{decision, mark, one_line};
use bethink_facts::{Facts, names};
use bethink_transcript::Seq;

use crate::ladder::SummaryRequest;

use super::page::{SummaryPage, WrittenSummary};

const STATEMENT_BYTES: usize = 280;
/// Fixed cost of a line, in bytes, added to its length: its marker, and a penalty for one more line to read.
const LINE_COST: f32 = 24.0;
/// Value of a line from the newest message. A name that is certainly needed has the value 1.
const FRESH: f32 = 1.2;
/// Number of messages after which that value is halved.
const HALF_LIFE: f32 = 60.0;
/// Value of a reason, and of a statement by the user.
const REASON: f32 = 0.5;
const BY_USER: f32 = 0.8;

/// Minimum size of a statement without a name, in bytes: "Good." is left out.
const SHORTEST: usize = 48;
/// Factor for a statement that only announces a step.
const ANNOUNCEMENT: f32 = 0.3;

struct LineCandidate {
    seq: Seq,
    line: String,
    names: Vec<String>,
    worth: f32,
}

/// Adds the most valuable statements and decisions for their size, in the order in which they were made.
pub(super) fn statements(
    page: &mut SummaryPage,
    request: &SummaryRequest<'_>,
    written: &WrittenSummary,
) {
    let facts = request.facts;
    let needs = needs(facts);
    let mut known = written.known.clone();
    let mut left: Vec<LineCandidate> = candidates(request, written, page.left());
    let mut chosen: Vec<(Seq, String)> = Vec::new();
    let mut room = page.left();
    loop {
        left.retain(|c| c.line.len() < room);
        let value = |c: &LineCandidate| {
            let fresh: f32 = c
                .names
                .iter()
                .filter(|name| !known.contains(*name))
                .filter_map(|name| needs.get(name.as_str()))
                .sum();
            (c.worth + fresh) / (c.line.len() as f32 + LINE_COST)
        };
        let best = left.iter().enumerate().max_by(|a, b| value(a.1).total_cmp(&value(b.1)));
        let Some(best) = best.map(|(at, _)| at) else { break };
        let best = left.swap_remove(best);
        room -= best.line.len() + 1;
        known.extend(best.names);
        chosen.push((best.seq, best.line));
    }
    chosen.sort_by_key(|(seq, _)| *seq);
    for (_, line) in &chosen {
        page.line(line);
    }
}

/// Returns the decisions, and the beginnings of statements without a decision.
fn candidates(
    request: &SummaryRequest<'_>,
    written: &WrittenSummary,
    room: usize,
) -> Vec<LineCandidate> {
    let facts = request.facts;
    let decided: HashSet<Seq> = facts.decisions.iter().map(|d| d.seq).collect();
    // User messages that are shown in full are not repeated.
    let shown = |seq: Seq| written.user_from.is_some_and(|from| seq >= from);
    let decisions = facts.decisions.iter();
    let decisions = decisions.filter(|d| request.is_hidden(d.seq) && !(d.by_user && shown(d.seq)));
    let decisions = decisions.map(|d| {
        let bonus = REASON + if d.by_user { BY_USER } else { 0.0 };
        candidate(facts, d.seq, format!("- {}", decision(d, STATEMENT_BYTES)), bonus)
    });
    let statements = facts
        .assistant
        .iter()
        .filter(|said| request.is_hidden(said.seq) && !decided.contains(&said.seq))
        .map(|said| {
            let text = one_line(&said.text, STATEMENT_BYTES);
            let mut made = candidate(facts, said.seq, format!("- {} {text}", mark(said.seq)), 0.0);
            if is_announcement(&text) {
                made.worth *= ANNOUNCEMENT;
            }
            made
        });
    let says = |c: &LineCandidate| !c.names.is_empty() || c.line.len() >= SHORTEST;
    decisions.chain(statements).filter(|c| c.line.len() < room && says(c)).collect()
}

/// Whether a statement only announces a step, such as "Now let me read the file".
fn is_announcement(text: &str) -> bool {
    const OPENINGS: &str = "Let me|Now let|Now I|I'll |I will |First, |Next, |No response|```";
    OPENINGS.split('|').any(|opening| text.starts_with(opening))
}

fn candidate(facts: &Facts, seq: Seq, line: String, bonus: f32) -> LineCandidate {
    let mut found = HashSet::new();
    names::names_in(&line, &mut found);
    let names = found.into_iter().map(str::to_owned).collect();
    let worth = bonus + FRESH * freshness(facts, seq, HALF_LIFE);
    LineCandidate { seq, names, line, worth }
}

/// Returns the predicted need of each name.
pub(super) fn needs(facts: &Facts) -> HashMap<&str, f32> {
    facts.names.ranked(&facts.moment()).iter().map(|ranked| (ranked.name, ranked.need)).collect()
}

/// Returns 1 for the newest message, and one half for one that is `half_life` messages older.
pub(super) fn freshness(facts: &Facts, seq: Seq, half_life: f32) -> f32 {
    names::decay(facts.through.0.saturating_sub(seq.0), half_life)
}
