//! Finds related words: a question and a topic may use different words for the same thing.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::catalog::Catalog;
use super::words::WORDS;
use crate::stem::stem;

/// How well a word matches its abbreviation or another spelling of it.
pub(crate) const SHORT: f32 = 0.95;
/// How well a word matches another word with nearly the same meaning.
pub(crate) const NEAR: f32 = 0.6;
/// How well a word matches the same word with a wrong letter, or with an ending that the stemming rules do not strip.
pub(crate) const MISSPELT: f32 = 0.7;

/// Related words must share this many leading letters, and their lengths may differ by at most this many.
const FAMILY_LETTERS: usize = 5;
const FAMILY_SPREAD: usize = 4;
/// Minimum length of a word that may be misspelled: shorter ones have too many neighbors that differ in one letter.
const MISSPELT_LETTERS: usize = 5;
const MOST_NEIGHBOURS: usize = 4;

/// Returns related terms, and how well they match.
pub(crate) fn kin(term: &str) -> &'static [(String, f32)] {
    KIN.get(term).map_or(&[], Vec::as_slice)
}

static KIN: LazyLock<HashMap<String, Vec<(String, f32)>>> = LazyLock::new(|| {
    let mut table: HashMap<String, Vec<(String, f32)>> = HashMap::new();
    for (groups, worth) in [(&WORDS.same, SHORT), (&WORDS.alike, NEAR)] {
        for group in groups {
            let terms: Vec<String> = group.split(' ').map(|word| stem(word).into_owned()).collect();
            for term in &terms {
                let others = table.entry(term.clone()).or_default();
                for other in &terms {
                    if other != term && !others.iter().any(|(known, _)| known == other) {
                        others.push((other.clone(), worth));
                    }
                }
            }
        }
    }
    table
});

/// Returns the terms in a catalog that an unknown word may stand for.
pub(crate) fn neighbours(catalog: &Catalog, term: &str) -> Vec<u32> {
    if !term.bytes().all(|byte| byte.is_ascii_lowercase()) || term.len() < MISSPELT_LETTERS {
        return Vec::new();
    }
    let mut found: Vec<u32> = catalog
        .starting_with(&term[..FAMILY_LETTERS.min(term.len())])
        .filter(|(other, _)| other.len().abs_diff(term.len()) <= FAMILY_SPREAD)
        .map(|(_, number)| number)
        .collect();
    if found.is_empty() {
        let alike = catalog.starting_with(&term[..1]);
        let alike = alike.filter(|(other, _)| is_one_off(term.as_bytes(), other.as_bytes()));
        found = alike.map(|(_, number)| number).collect();
    }
    found.truncate(MOST_NEIGHBOURS);
    found
}

/// Whether two words differ only in one added, missing or different letter, or in two swapped letters.
fn is_one_off(left: &[u8], right: &[u8]) -> bool {
    let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    if long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    let (short, long) = (&short[same..], &long[same..]);
    if short.len() < long.len() {
        return short == &long[1..];
    }
    match (short, long) {
        ([], []) => true,
        ([a, b, rest @ ..], [c, d, others @ ..]) if (a, b) == (d, c) => rest == others,
        _ => short[1..] == long[1..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_and_their_words_meet() {
        let stands = |term: &str, other: &str| kin(term).iter().any(|(known, _)| known == other);
        assert!(stands("db", "databas") && stands("databas", "db"));
        assert!(stands("rollback", "revert"));
        assert!(!stands("db", "db"));
        assert!(kin("fog").is_empty());
    }

    #[test]
    fn one_letter_off() {
        for (left, right, expect) in [
            ("water", "water", true),
            ("water", "watr", true),
            ("water", "wtaer", true),
            ("water", "wader", true),
            ("water", "waters", true),
            ("water", "wadet", false),
            ("water", "watersx", false),
            ("", "a", true),
        ] {
            assert_eq!(is_one_off(left.as_bytes(), right.as_bytes()), expect, "{left} {right}");
            assert_eq!(is_one_off(right.as_bytes(), left.as_bytes()), expect, "{right} {left}");
        }
    }
}
