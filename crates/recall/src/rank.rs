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

/// How far a message's neighbors are from it, in messages.
const REACH: usize = 2;

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
    Ranking { evidence, grid: grid(evidence), weights }.best(limit)
}

/// Numbers the messages of sessions that contain a term. A question about one session of a thousand should not cost more than that
/// session does.
fn grid(evidence: &Evidence<'_>) -> Grid {
    let mut lasts = vec![0; evidence.sessions.len()];
    let lists = evidence.terms.iter().flatten().chain(&evidence.families);
    for posting in lists.copied().flatten() {
        let session = posting.session as usize;
        if let Some(last) = lasts.get_mut(session) {
            *last = evidence.sessions[session].last as usize;
        }
    }
    Grid::new(lasts)
}

struct Ranking<'a> {
    evidence: &'a Evidence<'a>,
    /// The other sessions have no messages here.
    grid: Grid,
    weights: &'a Weights,
}

impl Ranking<'_> {
    fn best(&self, limit: usize) -> Vec<RankedMessage> {
        if limit == 0 || self.grid.len() == 0 {
            return Vec::new();
        }
        let term_weights = self.term_weights();
        if !self.fits(&term_weights) {
            return Vec::new();
        }
        let stretches = self.grid.stretches(self.places(self.evidence.begins));
        let scores = self.scores(&stretches, &term_weights);
        let extras = self.extras();
        let mut found: Vec<(usize, f32)> = Vec::new();
        for scored in &scores.stretches {
            let stretch = stretches.get(scored.number);
            let own = &scores.own[scored.first..][..stretch.len()];
            let whole = self.weights.stretch * scored.whole;
            let mut next = 0;
            for hit in (0..own.len()).filter(|place| own[*place] > 0.0) {
                let reached = match self.evidence.literal {
                    true => hit..hit + 1,
                    false => hit.saturating_sub(REACH).max(next)..(hit + REACH + 1).min(own.len()),
                };
                next = reached.end;
                for place in reached {
                    let at = stretch.start + place;
                    if extras.allowed.as_ref().is_none_or(|all| all.contains(at)) {
                        let answers = place > 0 && extras.asks.contains(at - 1);
                        let near = near(self.weights, own, place, answers);
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

    /// Returns the messages that are in one of the lists.
    fn marked<'b>(&self, lists: impl IntoIterator<Item = &'b [Posting]>) -> MessageSet {
        let mut marked = MessageSet::new(self.grid.len());
        for list in lists {
            self.places(list).for_each(|at| marked.insert(at));
        }
        marked
    }

    /// Returns the number of messages, and the mean number of terms in one.
    fn extent(&self) -> (f32, f32) {
        let sessions = self.evidence.sessions;
        let messages = to_float(sessions.iter().map(|session| session.messages).sum()).max(1.0);
        let terms: u64 = sessions.iter().map(|session| session.terms).sum();
        (messages, (to_float(terms) / messages).max(1.0))
    }

    fn term_weights(&self) -> Vec<f32> {
        let (messages, _) = self.extent();
        let weight = |list: &Option<&[Posting]>| {
            rarity(messages, list.map_or(messages, |list| to_float(list.len() as u64)))
        };
        self.evidence.terms.iter().map(weight).collect()
    }

    /// Returns the scores of messages' own words, and those of whole stretches as if each were one message.
    fn scores(&self, stretches: &Stretches, term_weights: &[f32]) -> Scores {
        let Evidence { terms, families, .. } = self.evidence;
        let (messages, mean_terms) = self.extent();
        let share = self.weights.family;
        let terms = terms.iter().zip(term_weights);
        let terms = terms.filter_map(|(list, weight)| Some((1.0, *weight, (*list)?)));
        let families = families
            .iter()
            .map(|list| (share, share * rarity(messages, to_float(list.len() as u64)), *list));
        let lasts = self.evidence.sessions.iter().map(|session| u64::from(session.last));
        let mean = to_float(self.grid.len() as u64) / to_float(stretches.len() as u64).max(1.0);
        // The number of stretches of all sessions, if those that are not numbered are as long.
        let count = to_float(lasts.sum()) / mean.max(1.0);
        let mut scores = Scores::new(stretches.len());
        for (share, weight, list) in terms.chain(families) {
            let found = self.add(&mut scores, stretches, list, weight, mean_terms);
            let weight = share * rarity(count, to_float(found.len() as u64));
            let Weights { stretch_repeats: repeats, stretch_length, .. } = *self.weights;
            for (at, often) in found {
                let scored = &mut scores.stretches[at];
                let length = to_float(stretches.get(scored.number).len() as u64);
                let damped = repeats * (1.0 - stretch_length + stretch_length * length / mean);
                scored.whole += weight * often * (repeats + 1.0) / (often + damped);
            }
        }
        scores
    }

    /// Adds the scores of one list. Returns for each stretch with a posting its index in the scores, and the frequency.
    fn add(
        &self,
        scores: &mut Scores,
        stretches: &Stretches,
        list: &[Posting],
        weight: f32,
        mean: f32,
    ) -> Vec<(usize, f32)> {
        let Weights { repeats, length, .. } = *self.weights;
        let mut found: Vec<(usize, f32)> = Vec::new();
        let (mut number, mut stretch, mut scored) = (0, 0..0, 0);
        for posting in list {
            let Some(at) = self.at(posting) else { continue };
            let often = frequency(posting.counts);
            if !stretch.contains(&at) {
                number = stretches.of(at, number);
                stretch = stretches.get(number);
                scored = scores.of(number, stretch.len());
                found.push((scored, 0.0));
            }
            if let Some((_, sum)) = found.last_mut() {
                *sum += often;
            }
            let terms = Posting::length_of(posting.length);
            let damped = repeats * (1.0 - length + length * terms / mean);
            scores.own[scores.stretches[scored].first + at - stretch.start] +=
                weight * often * (repeats + 1.0) / (often + damped);
        }
        found
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
            for posting in list {
                let Some(at) = self.at(posting) else { continue };
                let near = self.grid.around(posting.session, at, REACH);
                let from = near.start.max(covered).min(near.end);
                for near in &mut held[from..near.end] {
                    *near += weight;
                    if *near >= FITS * whole {
                        return true;
                    }
                }
                covered = near.end;
            }
        }
        false
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
        let weights = self.weights;
        let added = [
            (weights.speaker, party.copied().into_iter().collect()),
            (weights.when, vec![evidence.tells_when]),
            (weights.named_day, self.days()),
            (-weights.asking, vec![evidence.ends_asking]),
        ];
        let added =
            added.into_iter().filter(|(_, lists)| lists.iter().any(|list| !list.is_empty()));
        let added = added.map(|(weight, lists)| (weight, self.marked(lists))).collect();
        let filters = evidence.filters.iter().map(|lists| self.marked(lists.iter().copied()));
        let allowed = filters.reduce(|mut all, one| {
            all.0.iter_mut().zip(one.0).for_each(|(all, one)| *all &= one);
            all
        });
        Extras { asks: self.marked([evidence.asks, evidence.ends_asking]), added, allowed }
    }
}

/// Scores in the stretches that contain a term. The others take hardly any memory, because there may be half a million.
struct Scores {
    /// For each stretch its index in `stretches`, plus one; zero if it contains no term.
    indexes: Vec<u32>,
    stretches: Vec<ScoredStretch>,
    /// The scores of messages' own words.
    own: Vec<f32>,
}

struct ScoredStretch {
    number: usize,
    /// The index of its first message in `own`.
    first: usize,
    /// The score of its words as if it were one message.
    whole: f32,
}

impl Scores {
    fn new(stretches: usize) -> Self {
        Self { indexes: vec![0; stretches], stretches: Vec::new(), own: Vec::new() }
    }

    /// Returns the index of a stretch, which has this length.
    fn of(&mut self, number: usize, length: usize) -> usize {
        let index = &mut self.indexes[number];
        if *index == 0 {
            self.stretches.push(ScoredStretch { number, first: self.own.len(), whole: 0.0 });
            self.own.resize(self.own.len() + length, 0.0);
            *index = u32::try_from(self.stretches.len()).unwrap_or(u32::MAX);
        }
        *index as usize - 1
    }
}

/// A set of messages, one bit each.
struct MessageSet(Vec<u64>);

impl MessageSet {
    fn new(messages: usize) -> Self {
        Self(vec![0; messages.div_ceil(64)])
    }

    fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn contains(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }
}

struct Extras {
    asks: MessageSet,
    added: Vec<(f32, MessageSet)>,
    /// The messages that the filters allow; `None` if there are no filters.
    allowed: Option<MessageSet>,
}

impl Extras {
    fn of(&self, at: usize) -> f32 {
        self.added.iter().filter(|(_, marked)| marked.contains(at)).map(|(weight, _)| weight).sum()
    }
}

/// Returns the own score of the message at a place of a stretch, plus shares of its neighbors' scores in the stretch. `answers` states
/// whether the message before asks something.
fn near(weights: &Weights, own: &[f32], at: usize, answers: bool) -> f32 {
    let after = |steps: usize| own.get(at + steps).copied().unwrap_or_default();
    let before = |steps: usize| at.checked_sub(steps).map_or(0.0, |at| own[at]);
    let answers = if answers { weights.answers } else { 0.0 };
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
