//! Merges two versions of an index as sets of entries, so that the order of syncs does not change the result.
//!
//! A line-based merge, like git's, would report a conflict whenever two people add an entry at the end of the list.

use std::collections::{BTreeMap, BTreeSet};

use super::edit::{InsertPoint, without};
use super::lines::{IndexEntry, entries};
use super::style::line_end;

/// A topic's name, and the number of one of its entries.
type Key = (String, usize);

/// Merges `ours` and `theirs`, which were both made from `base`.
///
/// Additions and changes by either side are kept. An entry that one side removed is removed if the other side left it
/// unchanged, and kept if the other side changed it. If both changed an entry, the longer text wins. Of two equally
/// long texts, the one that sorts last wins, so that everybody gets the same result. Prose is taken from `ours`, unless
/// only `theirs` changed it.
pub fn merge(base: &str, ours: &str, theirs: &str) -> String {
    let theirs_alone = prose(ours) == prose(base) && prose(theirs) != prose(base);
    let (frame, other) = if theirs_alone { (theirs, ours) } else { (ours, theirs) };
    let decided = decided(&keyed(base), &keyed(ours), &keyed(theirs));
    let end = line_end(frame);

    let mut out = String::with_capacity(ours.len() + theirs.len());
    let (mut at, mut placed) = (0, BTreeSet::new());
    for (key, entry) in in_order(frame) {
        out.push_str(&frame[at..entry.range.start]);
        at = entry.range.end;
        if let Some(text) = decided.get(&key) {
            // An unchanged entry keeps every byte, including trailing spaces.
            match *text == plain(entry.text) {
                true => out.push_str(entry.text),
                false => out.push_str(&ended(text, end)),
            }
        }
        placed.insert(key);
    }
    out.push_str(&frame[at..]);

    let added: String = in_order(other)
        .into_iter()
        .filter(|(key, _)| !placed.contains(key))
        .filter_map(|(key, _)| decided.get(&key))
        .map(|text| ended(text, end))
        .collect();
    if added.is_empty() { out } else { InsertPoint::of(&out).put(&out, &added) }
}

fn decided(
    base: &BTreeMap<Key, String>,
    ours: &BTreeMap<Key, String>,
    theirs: &BTreeMap<Key, String>,
) -> BTreeMap<Key, String> {
    let keys: BTreeSet<&Key> = ours.keys().chain(theirs.keys()).collect();
    let text = |key: &Key| match (base.get(key), ours.get(key), theirs.get(key)) {
        (_, None, None) => None,
        (Some(old), Some(one), None) | (Some(old), None, Some(one)) => (one != old).then_some(one),
        (None, Some(one), None) | (None, None, Some(one)) => Some(one),
        (Some(old), Some(ours), Some(theirs)) if ours == old => Some(theirs),
        (Some(old), Some(ours), Some(theirs)) if theirs == old => Some(ours),
        // Choose by the texts only, so that two people who merge get the same result.
        (_, Some(ours), Some(theirs)) => {
            [ours, theirs].into_iter().max_by_key(|text| (text.len(), *text))
        }
    };
    keys.into_iter().filter_map(|key| Some((key.clone(), text(key)?.clone()))).collect()
}

fn keyed(text: &str) -> BTreeMap<Key, String> {
    in_order(text).into_iter().map(|(key, entry)| (key, plain(entry.text))).collect()
}

fn in_order(text: &str) -> Vec<(Key, IndexEntry<'_>)> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut out = Vec::new();
    for entry in entries(text) {
        let name = entry.name.folded();
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        out.push(((name, *count), entry));
    }
    out
}

/// Removes line endings and trailing spaces, for comparison.
fn plain(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn ended(text: &str, end: &str) -> String {
    text.lines().flat_map(|line| [line, end]).collect()
}

/// Returns all lines that are not part of an entry.
fn prose(text: &str) -> Vec<String> {
    without(text, |_| true).lines().map(|line| line.trim_end().to_owned()).collect()
}
