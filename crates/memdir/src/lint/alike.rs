//! Finds topics that duplicate each other: they have the same description, or nine tenths of their words in common.

use std::collections::{BTreeSet, HashMap, HashSet};

use bethink_statement::{StatementWord, likeness, words};

use super::finding::{MemoryFinding, Severity, finding};
use super::known::KnownTopics;

/// Minimum share of the words in either topic that near-duplicates have in common.
const ALIKE: f64 = 0.9;
/// Minimum number of distinct words; shorter topics may be alike by chance.
const LEAST_WORDS: usize = 20;
/// Number of bands in a signature, and number of hashes in each band. A pair of topics at the threshold is found with a
/// probability of 1 − (1 − 0.9⁴)⁸.
const BANDS: usize = 8;
const ROWS: usize = 4;

pub(super) fn lint(known: &KnownTopics<'_>, out: &mut Vec<MemoryFinding>) {
    let mut reported = HashSet::new();
    for (at, first) in same_words(known) {
        reported.insert(at);
        out.push(duplicate(known, at, first, "says nearly the same thing as"));
    }
    for (at, first) in same_description(known) {
        if reported.insert(at) {
            out.push(duplicate(known, at, first, "has the same description as"));
        }
    }
}

fn duplicate(known: &KnownTopics<'_>, at: usize, first: usize, what: &str) -> MemoryFinding {
    let file = |at: usize| known.topics[at].0.file();
    let (what, help) = (format!("{what} {}", file(first)), "merge the two topics");
    finding(Severity::Warning, "near-duplicate", file(at), what, help)
}

/// Pairs each topic with the first topic that has the same description.
fn same_description(known: &KnownTopics<'_>) -> Vec<(usize, usize)> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut out = Vec::new();
    for (at, (_, _, topic)) in known.topics.iter().enumerate() {
        let Some(description) = &topic.header.description else { continue };
        let first = *seen.entry(description.to_lowercase()).or_insert(at);
        if first != at {
            out.push((at, first));
        }
    }
    out
}

/// Pairs each topic with an earlier topic that has nearly the same words.
///
/// Only topics that agree in a band of their signatures are compared. That misses one in 5,000 pairs that have nine
/// tenths of their words in common, and avoids comparing most pairs that have few words in common. Comparing topics
/// that share a rare word would be exact, but would compare every pair if no word is rare.
fn same_words(known: &KnownTopics<'_>) -> Vec<(usize, usize)> {
    let sets = word_sets(known);
    let mut seen: HashMap<(usize, [u64; ROWS]), Vec<usize>> = HashMap::new();
    let mut out = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        if set.len() < LEAST_WORDS {
            continue;
        }
        let bands = bands(set);
        let candidates = bands.iter().filter_map(|band| seen.get(band)).flatten();
        match candidates.copied().find(|other| likeness(set, &sets[*other]) > ALIKE) {
            // A duplicate is not compared with later topics, so that a thousand copies are only a thousand findings.
            Some(first) => out.push((at, first)),
            None => bands.into_iter().for_each(|band| seen.entry(band).or_default().push(at)),
        }
    }
    out
}

/// Returns a topic's signature in bands: the smallest hash of its words, by each of many hash functions.
fn bands(set: &BTreeSet<u32>) -> Vec<(usize, [u64; ROWS])> {
    let least = |function: usize| {
        set.iter().map(|word| mixed(u64::from(*word), function as u64)).min().unwrap_or(0)
    };
    (0..BANDS).map(|band| (band, std::array::from_fn(|row| least(band * ROWS + row)))).collect()
}

/// Hashes a number with one of many functions (splitmix64).
fn mixed(number: u64, function: u64) -> u64 {
    let mut x = number.wrapping_add(function.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 40);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Returns each body's distinct words, as numbers.
fn word_sets(known: &KnownTopics<'_>) -> Vec<BTreeSet<u32>> {
    let mut ids: HashMap<String, u32> = HashMap::new();
    let mut id = |word: StatementWord| {
        let next = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        *ids.entry(word.lower).or_insert(next)
    };
    let bodies = known.topics.iter().map(|(_, _, topic)| topic.body);
    bodies.map(|body| words(body, 0..body.len()).into_iter().map(&mut id).collect()).collect()
}
