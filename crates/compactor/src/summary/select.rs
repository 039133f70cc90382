//! Chooses the passages that say the most for their size: a word counts fully only once, and names that the following work
//! probably needs count more than words.

use std::collections::{HashMap, HashSet};

use bethink_facts::{Facts, names};
use bethink_transcript::Seq;

/// Share of its weight that a term keeps once a chosen passage contains it.
const REPEATED: f32 = 0.08;
/// Minimum share of a passage's weight that new terms must have.
const NEW: f32 = 0.15;
/// Number of candidates that are compared in each step: those with the highest initial value.
const CANDIDATES: usize = 3_000;
/// Fixed cost of a passage, in bytes: a reader has to work out where each one belongs.
const PASSAGE_COST: f32 = 30.0;
/// How strongly the repetition of a word among the candidates raises its weight: a repeated word is probably a topic.
const TOPIC: f32 = 1.0;
/// Factor for a passage beside a chosen one: a text with fewer gaps reads better.
const NEXT: f32 = 1.5;
/// How strongly the share of the room that a group has taken lowers the value of its other passages.
const SPREAD: f32 = 6.0;
/// Factor for the rarity of a name among the candidates; other words have a smaller factor. The need for a name is added.
const NAME: f32 = 1.0;
/// Maximum number of lines from one edited file. A model that needs more can read the file. In a test with 208 questions and a
/// limit of 10 to 12 lines, the summary answered as many questions as without a limit, and the whole prompt answered one more.
const FILE_LINES: usize = 12;

/// Number of messages after which a passage has lost half of the value that it can lose.
const HALF_LIFE: f32 = 120.0;
/// Minimum share of its value that an old passage keeps.
const OLD: f32 = 0.4;

/// Returns the share of its value that a passage of this message has kept, from [`OLD`] to 1.
pub(super) fn freshness(facts: &Facts, seq: Seq) -> f32 {
    let age = facts.through.0.saturating_sub(seq.0);
    OLD + (1.0 - OLD) * names::decay(age, HALF_LIFE)
}

/// Passages that are shown together: from one message, or from one file.
#[derive(Debug, Default)]
pub(super) struct PassageGroup {
    /// The text at the beginning of the line or block.
    pub(super) head: String,
    pub(super) seq: Seq,
    /// Whether the passages are from a file that was edited.
    pub(super) is_edited: bool,
    pub(super) passages: Vec<PassageCandidate>,
}

impl PassageGroup {
    /// Returns the maximum number of passages to choose.
    fn most(&self) -> usize {
        if self.is_edited { FILE_LINES } else { usize::MAX }
    }
}

#[derive(Debug)]
pub(super) struct PassageCandidate {
    pub(super) text: String,
    /// Value relative to other passages with the same words; a passage with 0 is never chosen.
    pub(super) worth: f32,
    pub(super) is_chosen: bool,
}

/// Marks passages as chosen until `room` bytes are used. Words in `said` are known to the reader. Returns the size of
/// what was chosen.
pub(super) fn choose(
    groups: &mut [PassageGroup],
    facts: &Facts,
    said: &[&str],
    room: usize,
) -> usize {
    let mut terms = Terms::new(groups, facts);
    said.iter().for_each(|text| terms.cover_text(text));
    let mut left = room;
    let mut open: Vec<(usize, usize, Vec<u32>)> = Vec::new();
    for (g, group) in groups.iter().enumerate() {
        for (p, passage) in group.passages.iter().enumerate().filter(|(_, p)| p.worth > 0.0) {
            open.push((g, p, terms.of(&passage.text)));
        }
    }
    let first = |(g, p, found): &(usize, usize, Vec<u32>)| {
        let passage = &groups[*g].passages[*p];
        passage.worth * terms.gain(found) / (passage.text.len() as f32 + PASSAGE_COST)
    };
    if open.len() > CANDIDATES {
        open.sort_by(|a, b| first(b).total_cmp(&first(a)));
        open.truncate(CANDIDATES);
    }
    // Bytes chosen of each group.
    let mut taken: Vec<usize> = vec![0; groups.len()];
    let mut counts: Vec<usize> = vec![0; groups.len()];
    loop {
        let cost = |g: usize, p: usize| {
            let head = if taken[g] > 0 { 3 } else { groups[g].head.len() + 3 };
            groups[g].passages[p].text.len() + head
        };
        let is_next = |g: usize, p: usize| {
            let at = |p: usize| groups[g].passages.get(p).is_some_and(|p| p.is_chosen);
            p > 0 && at(p - 1) || at(p + 1)
        };
        open.retain(|(g, p, found)| {
            cost(*g, *p) <= left && counts[*g] < groups[*g].most() && terms.is_new(found)
        });
        let value = |(g, p, terms_of): &(usize, usize, Vec<u32>)| {
            let passage = &groups[*g].passages[*p];
            let next = if is_next(*g, *p) { NEXT } else { 1.0 };
            let spread = 1.0 / (1.0 + SPREAD * taken[*g] as f32 / room as f32);
            passage.worth * next * spread * terms.gain(terms_of)
                / (cost(*g, *p) as f32 + PASSAGE_COST)
        };
        let best = open.iter().enumerate().map(|(at, c)| (at, value(c)));
        let Some((at, worth)) = best.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))) else {
            break;
        };
        if worth <= 0.0 {
            break;
        }
        let (g, p, found) = open.swap_remove(at);
        let spent = cost(g, p);
        left -= spent;
        terms.cover(&found);
        taken[g] += spent;
        counts[g] += 1;
        groups[g].passages[p].is_chosen = true;
    }
    room - left
}

/// The words and names of all candidates, with weights.
struct Terms {
    ids: HashMap<String, u32>,
    weights: Vec<f32>,
    covered: Vec<bool>,
}

impl Terms {
    fn new(groups: &[PassageGroup], facts: &Facts) -> Self {
        let mut ids: HashMap<String, u32> = HashMap::new();
        let mut counts: Vec<u32> = Vec::new();
        let mut is_name: Vec<bool> = Vec::new();
        let mut total = 0_u32;
        let texts = groups.iter().flat_map(|group| &group.passages).map(|passage| &passage.text);
        for text in texts {
            total += 1;
            let mut seen = HashSet::new();
            for_each_term(text, |term, name| {
                let next = ids.len() as u32;
                let id = *ids.entry(term.to_owned()).or_insert(next);
                if id == next {
                    counts.push(0);
                    is_name.push(name);
                }
                if seen.insert(id) {
                    counts[id as usize] += 1;
                }
            });
        }
        let needs: HashMap<String, f32> = facts
            .names
            .ranked(&facts.moment())
            .iter()
            .map(|r| (r.name.to_lowercase(), r.need))
            .collect();
        let most = (1.0 + total as f32).ln();
        let mut weights = vec![0.0; ids.len()];
        for (term, id) in &ids {
            let id = *id as usize;
            let count = counts[id] as f32;
            // A word in only one passage is a detail, and a word in many passages says nothing.
            let rare = ((1.0 + total as f32) / count).ln() / most * (1.0 + TOPIC * count.ln());
            let need = needs.get(term).copied().unwrap_or(0.0);
            weights[id] = rare * (if is_name[id] { NAME } else { 0.6 }) + 4.0 * need;
        }
        let covered = vec![false; ids.len()];
        Self { ids, weights, covered }
    }

    fn of(&self, text: &str) -> Vec<u32> {
        let mut found = Vec::new();
        for_each_term(text, |term, _| found.extend(self.ids.get(term)));
        found.sort_unstable();
        found.dedup();
        found
    }

    fn gain(&self, terms: &[u32]) -> f32 {
        let each = |id: &u32| {
            let weight = self.weights[*id as usize];
            if self.covered[*id as usize] { weight * REPEATED } else { weight }
        };
        terms.iter().map(each).sum()
    }

    /// Whether enough of the weight of these terms is in terms that no chosen passage contains.
    fn is_new(&self, terms: &[u32]) -> bool {
        let all: f32 = terms.iter().map(|id| self.weights[*id as usize]).sum();
        let fresh = terms.iter().filter(|id| !self.covered[**id as usize]);
        fresh.map(|id| self.weights[*id as usize]).sum::<f32>() >= all * NEW
    }

    fn cover(&mut self, terms: &[u32]) {
        terms.iter().for_each(|id| self.covered[*id as usize] = true);
    }

    fn cover_text(&mut self, text: &str) {
        let found = self.of(text);
        self.cover(&found);
    }
}

/// Calls `each` with each word and name of a text, in lower case, and with whether it is a name.
fn for_each_term(text: &str, mut each: impl FnMut(&str, bool)) {
    const SHORTEST: usize = 3;
    let mut named = HashSet::new();
    names::names_in(text, &mut named);
    let mut named: Vec<&str> = named.into_iter().collect();
    named.sort_unstable();
    for name in named {
        each(&name.to_lowercase(), true);
    }
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let has_digit = word.bytes().any(|b| b.is_ascii_digit());
        if word.len() >= SHORTEST || has_digit {
            each(&word.to_lowercase(), false);
        }
    }
}
