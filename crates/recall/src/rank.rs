//! Ranks messages for a question by where the question's terms occur.
//!
//! A message's score has three parts: the score of its own words (BM25), a share of its neighbors' scores, which is
//! larger if the previous message asks something, and a share of the score of its stretch, a run of neighboring
//! messages that is scored like one long message. Other evidence depends on the question: the speaker that it asks
//! about, or time expressions if it asks when something happened. The constants need not be exact; they were validated
//! on other conversations.
//!
//! The running time is linear in the number of postings and messages. No message is read.

use bethink_store::{Counts, Posting};

use crate::grid::{Grid, Stretches};
use crate::weights::Weights;

/// A speaker counts as a participant if at least one in this many messages is theirs.
const PARTY: usize = 50;
/// Weights of the user's words, the assistant's words, tool input and tool results. Tool text is rarely about one
/// thing.
const FIELDS: [f32; Counts::FIELDS] = [1.0, 1.0, 0.9, 0.7];
/// Minimum share of a question's total weight that the terms in a message and its neighbors must have. If no message
/// reaches it, nothing is found. This limit rejects half of the questions about other conversations, and one in sixty
/// questions that have an answer.
const FITS: f32 = 0.2;

#[derive(Clone, Copy, Debug)]
pub struct SessionExtent {
    /// Sequence number of the session's last message.
    pub last: u32,
    /// Number of indexed messages, and total number of their terms.
    pub messages: u64,
    pub terms: u64,
}

/// The postings for a question. Each list is sorted by session and seq; `None` stands for a list that was too long to
/// read.
#[derive(Debug)]
pub struct Evidence<'a> {
    pub sessions: &'a [SessionExtent],
    pub terms: Vec<Option<&'a [Posting]>>,
    /// Postings of other words with the same prefix as a term.
    pub families: Vec<&'a [Posting]>,
    pub begins: &'a [Posting],
    pub asks: &'a [Posting],
    pub ends_asking: &'a [Posting],
    /// Messages that state when something happened. Empty unless the question asks that.
    pub tells_when: &'a [Posting],
    /// Messages by each speaker that a word of the question may name.
    pub speakers: Vec<&'a [Posting]>,
    /// Messages from the days that the question names.
    pub days: Vec<&'a [Posting]>,
    /// For a named day without messages: the messages from each day of the week that follows it, in order.
    pub days_after: Vec<&'a [Posting]>,
    /// Whether a hit must contain a word of the question itself. If not, a hit may also be a neighbor of such a
    /// message.
    pub literal: bool,
    /// Groups of posting lists. A hit must be in at least one list of each group.
    pub filters: Vec<Vec<&'a [Posting]>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedMessage {
    pub session: u32,
    pub seq: u32,
    /// The score; a higher one is better.
    pub score: f32,
}

/// Returns the best messages, best first; none if nothing fits.
pub fn rank(evidence: &Evidence<'_>, weights: &Weights, limit: usize) -> Vec<RankedMessage> {
    Ranking { evidence, grid: Grid::new(evidence.sessions), weights }.best(limit)
}

struct Ranking<'a> {
    evidence: &'a Evidence<'a>,
    grid: Grid,
    weights: &'a Weights,
}

impl Ranking<'_> {
    fn best(&self, limit: usize) -> Vec<RankedMessage> {
        if limit == 0 || self.grid.len() == 0 {
            return Vec::new();
        }
        let stretches = self.grid.stretches(self.places(self.evidence.begins));
        let (own, term_weights) = self.own();
        if !self.fits(&term_weights) {
            return Vec::new();
        }
        let around = self.around(&stretches);
        let extras = self.extras();
        let weights = self.weights;
        let mut found: Vec<(usize, f32)> = Vec::new();
        for (number, stretch) in stretches.iter().enumerate() {
            if around[number] > 0.0 {
                let whole = weights.stretch * around[number];
                for at in stretch.clone() {
                    let near = near(weights, &own, &extras.asks, &stretch, at);
                    let says = if self.evidence.literal { own[at] } else { near };
                    if says > 0.0 && extras.allowed.as_ref().is_none_or(|allowed| allowed[at]) {
                        found.push((at, near + whole + extras.of(at)));
                    }
                }
            }
        }
        let ranked = |(at, score): (usize, f32)| {
            let (session, seq) = self.grid.place(at);
            RankedMessage { session, seq, score }
        };
        best_of(found, limit).into_iter().map(ranked).collect()
    }

    fn at(&self, posting: &Posting) -> Option<usize> {
        self.grid.index(posting.session, posting.seq)
    }

    fn places(&self, list: &[Posting]) -> impl Iterator<Item = usize> {
        list.iter().filter_map(|posting| self.at(posting))
    }

    /// Returns for each message whether it is in one of the lists.
    fn marked<'b>(&self, lists: impl IntoIterator<Item = &'b [Posting]>) -> Vec<bool> {
        let mut marked = vec![false; self.grid.len()];
        for list in lists {
            self.places(list).for_each(|at| marked[at] = true);
        }
        marked
    }

    /// Returns the score of each message's own words, and the weight of each term.
    fn own(&self) -> (Vec<f32>, Vec<f32>) {
        let sessions = self.evidence.sessions;
        let messages = to_float(sessions.iter().map(|session| session.messages).sum()).max(1.0);
        let terms: u64 = sessions.iter().map(|session| session.terms).sum();
        let mean = (to_float(terms) / messages).max(1.0);
        let (mut scores, mut weights) = (vec![0.0; self.grid.len()], Vec::new());
        for list in &self.evidence.terms {
            let found = list.map_or(messages, |list| to_float(list.len() as u64));
            let weight = rarity(messages, found);
            weights.push(weight);
            self.add(&mut scores, list.unwrap_or_default(), weight, mean);
        }
        for list in &self.evidence.families {
            let weight = self.weights.family * rarity(messages, to_float(list.len() as u64));
            self.add(&mut scores, list, weight, mean);
        }
        (scores, weights)
    }

    fn add(&self, scores: &mut [f32], list: &[Posting], weight: f32, mean: f32) {
        let Weights { repeats, length, .. } = *self.weights;
        for posting in list {
            let Some(at) = self.at(posting) else { continue };
            let often = frequency(posting.counts);
            let terms = Posting::length_of(posting.length);
            let damped = repeats * (1.0 - length + length * terms / mean);
            scores[at] += weight * often * (repeats + 1.0) / (often + damped);
        }
    }

    /// Whether there is a message that, with its neighbors, contains terms with at least [`FITS`] of the question's
    /// total weight.
    fn fits(&self, weights: &[f32]) -> bool {
        let whole: f32 = weights.iter().sum();
        let mut lists: Vec<(f32, &[Posting])> = weights
            .iter()
            .zip(&self.evidence.terms)
            .filter_map(|(weight, list)| Some((*weight, (*list)?)))
            .filter(|(_, list)| !list.is_empty())
            .collect();
        lists.sort_by(|one, other| other.0.total_cmp(&one.0));
        if lists.first().is_some_and(|(weight, _)| *weight >= FITS * whole) {
            return true;
        }
        let mut held = vec![0.0_f32; self.grid.len()];
        for (weight, list) in lists {
            let mut covered = 0;
            for at in self.places(list) {
                let end = (at + 3).min(held.len());
                let from = at.saturating_sub(2).max(covered).min(end);
                for near in &mut held[from..end] {
                    *near += weight;
                    if *near >= FITS * whole {
                        return true;
                    }
                }
                covered = end;
            }
        }
        false
    }

    /// Returns the score of each stretch as if it were one message.
    fn around(&self, stretches: &Stretches) -> Vec<f32> {
        let Weights { stretch_repeats: repeats, stretch_length, family, .. } = *self.weights;
        let count = to_float(stretches.len() as u64);
        let mean = to_float(self.grid.len() as u64) / count.max(1.0);
        let mut scores = vec![0.0; stretches.len()];
        let terms = self.evidence.terms.iter().flatten().map(|list| (1.0, *list));
        let families = self.evidence.families.iter().map(|list| (family, *list));
        for (share, list) in terms.chain(families) {
            let mut found: Vec<(usize, f32)> = Vec::new();
            let mut number = 0;
            for posting in list {
                let Some(at) = self.at(posting) else { continue };
                number = stretches.of(at, number);
                match found.last_mut() {
                    Some((last, often)) if *last == number => *often += frequency(posting.counts),
                    _ => found.push((number, frequency(posting.counts))),
                }
            }
            let weight = share * rarity(count, to_float(found.len() as u64));
            for (number, often) in found {
                let length = to_float(stretches.get(number).len() as u64);
                let damped = repeats * (1.0 - stretch_length + stretch_length * length / mean);
                scores[number] += weight * often * (repeats + 1.0) / (often + damped);
            }
        }
        scores
    }

    fn days(&self) -> Vec<&[Posting]> {
        let Evidence { days, days_after, .. } = self.evidence;
        match days.iter().all(|day| day.is_empty()) {
            true => days_after.iter().find(|day| !day.is_empty()).copied().into_iter().collect(),
            false => days.clone(),
        }
    }

    fn extras(&self) -> Extras {
        let evidence = self.evidence;
        let few = self.grid.len().div_ceil(PARTY);
        let mut parties =
            evidence.speakers.iter().filter(|list| !list.is_empty() && list.len() >= few);
        let party = parties.next().filter(|_| parties.next().is_none());
        let mut added = vec![(self.weights.speaker, self.marked(party.copied()))];
        added.push((self.weights.when, self.marked([evidence.tells_when])));
        added.push((self.weights.named_day, self.marked(self.days())));
        added.push((-self.weights.asking, self.marked([evidence.ends_asking])));
        let filters = evidence.filters.iter().map(|lists| self.marked(lists.iter().copied()));
        let allowed = filters.reduce(|mut all, one| {
            all.iter_mut().zip(one).for_each(|(all, one)| *all &= one);
            all
        });
        Extras { asks: self.marked([evidence.asks, evidence.ends_asking]), added, allowed }
    }
}

struct Extras {
    asks: Vec<bool>,
    added: Vec<(f32, Vec<bool>)>,
    /// For each message, whether the filters allow it; `None` if there are no filters.
    allowed: Option<Vec<bool>>,
}

impl Extras {
    fn of(&self, at: usize) -> f32 {
        self.added.iter().filter(|(_, marked)| marked[at]).map(|(weight, _)| weight).sum()
    }
}

/// Returns a message's own score plus shares of its neighbors' scores in the stretch.
fn near(
    weights: &Weights,
    own: &[f32],
    asks: &[bool],
    stretch: &std::ops::Range<usize>,
    at: usize,
) -> f32 {
    let after = |steps: usize| if at + steps < stretch.end { own[at + steps] } else { 0.0 };
    let before = |steps: usize| if at >= stretch.start + steps { own[at - steps] } else { 0.0 };
    let answers = if at > stretch.start && asks[at - 1] { weights.answers } else { 0.0 };
    own[at]
        + weights.next * after(1)
        + weights.second_next * after(2)
        + weights.before * (1.0 + answers) * before(1)
        + weights.second_before * before(2)
}

/// Returns the inverse document frequency, which is never negative here.
fn rarity(of: f32, found: f32) -> f32 {
    (1.0 + (of - found + 0.5).max(0.0) / (found + 0.5)).ln()
}

fn frequency(counts: Counts) -> f32 {
    (0..).zip(FIELDS).map(|(field, weight)| f32::from(counts.of(field)) * weight).sum()
}

#[allow(clippy::cast_precision_loss, reason = "seven digits are enough for a score")]
fn to_float(number: u64) -> f32 {
    number as f32
}

/// Returns the best hits, best first. Among hits with equal scores, older ones come first.
fn best_of(mut found: Vec<(usize, f32)>, limit: usize) -> Vec<(usize, f32)> {
    let order = |one: &(usize, f32), other: &(usize, f32)| {
        other.1.total_cmp(&one.1).then(one.0.cmp(&other.0))
    };
    if found.len() > limit {
        // Selection takes linear time, unlike sorting a long history.
        found.select_nth_unstable_by(limit, order);
        found.truncate(limit);
    }
    found.sort_unstable_by(order);
    found
}

#[cfg(test)]
mod tests;
