//! Topics that say the same twice, by their descriptions or by nine of ten words.

use std::collections::{HashMap, HashSet};

use super::known::Known;
use super::{Finding, Severity};
use crate::name::Name;

/// Share of words that two topics have in common, of those that either has.
const ALIKE: f64 = 0.9;
/// Distinct words; fewer are alike by chance.
const LEAST_WORDS: usize = 20;

pub(super) fn lint(known: &Known<'_>, out: &mut Vec<Finding>) {
    let mut told = HashSet::new();
    for (at, first) in same_words(known) {
        told.insert(at);
        out.push(finding(known, at, first, "says nearly the same as"));
    }
    for (at, first) in same_description(known) {
        if told.insert(at) {
            out.push(finding(known, at, first, "has the same description as"));
        }
    }
}

fn finding(known: &Known<'_>, at: usize, first: usize, what: &str) -> Finding {
    let name = |at: usize| known.topics[at].0;
    Finding {
        severity: Severity::Warning,
        rule: "near-duplicate",
        file: name(at).file(),
        line: None,
        what: format!("{what} {}", Name::file(name(first))),
        help: "merge the two into one".to_owned(),
    }
}

/// Each topic with the first that is described so.
fn same_description(known: &Known<'_>) -> Vec<(usize, usize)> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut out = Vec::new();
    for (at, (_, _, topic)) in known.topics.iter().enumerate() {
        let Some(description) = &topic.header.description else { continue };
        match seen.get(&description.to_lowercase()) {
            Some(first) => out.push((at, *first)),
            None => {
                seen.insert(description.to_lowercase(), at);
            }
        }
    }
    out
}

/// Each topic with an earlier one of nearly the same words.
///
/// Two sets of which nine tenths are common share one of their rarest words, so only topics with a
/// rare word in common are compared: exact, and far from every pair.
fn same_words(known: &Known<'_>) -> Vec<(usize, usize)> {
    let sets = word_sets(known);
    let mut holders: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut out = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        if set.len() < LEAST_WORDS {
            continue;
        }
        let rare = &set[..set.len() - (set.len() as f64 * ALIKE).ceil() as usize + 1];
        let mut candidates: Vec<usize> =
            rare.iter().filter_map(|word| holders.get(word)).flatten().copied().collect();
        candidates.sort_unstable();
        candidates.dedup();
        match candidates.into_iter().find(|other| alike(set, &sets[*other])) {
            // What is like an earlier one is compared with no later one: a thousand copies are a line each.
            Some(first) => out.push((at, first)),
            None => rare.iter().for_each(|word| holders.entry(*word).or_default().push(at)),
        }
    }
    out
}

/// Each body's distinct words as numbers, the rarest first.
fn word_sets(known: &Known<'_>) -> Vec<Vec<u32>> {
    let mut counts: HashMap<String, (u32, u32)> = HashMap::new();
    let mut sets = Vec::with_capacity(known.topics.len());
    for (_, _, topic) in &known.topics {
        let words: HashSet<String> = topic
            .body
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let mut set = Vec::with_capacity(words.len());
        for word in words {
            let next = u32::try_from(counts.len()).unwrap_or(u32::MAX);
            let (id, count) = counts.entry(word).or_insert((next, 0));
            *count += 1;
            set.push(*id);
        }
        sets.push(set);
    }
    let mut rarity: Vec<(u32, u32)> = counts.into_values().map(|(id, count)| (count, id)).collect();
    rarity.sort_unstable();
    let mut rank = vec![0; rarity.len()];
    for (place, (_, id)) in rarity.into_iter().enumerate() {
        rank[id as usize] = u32::try_from(place).unwrap_or(u32::MAX);
    }
    for set in &mut sets {
        set.iter_mut().for_each(|id| *id = rank[*id as usize]);
        set.sort_unstable();
    }
    sets
}

/// Of two sorted sets.
fn alike(one: &[u32], other: &[u32]) -> bool {
    let (small, large) = (one.len().min(other.len()), one.len().max(other.len()));
    if (small as f64) < large as f64 * ALIKE {
        return false;
    }
    let (mut a, mut b, mut common) = (0, 0, 0);
    while let (Some(x), Some(y)) = (one.get(a), other.get(b)) {
        common += usize::from(x == y);
        a += usize::from(x <= y);
        b += usize::from(y <= x);
    }
    common as f64 > (one.len() + other.len() - common) as f64 * ALIKE
}
