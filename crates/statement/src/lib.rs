//! The words of a text, and the similarity of two texts.
//!
//! Three crates compare statements, each with its own thresholds: `dream` decides whether one statement replaces
//! another, `extractor` whether a statement is already known in other words, and `memdir` whether two topics are near
//! duplicates. The crates share what is here: words, negations, numbers, names, and the similarity of two sets.

use std::collections::BTreeSet;
use std::ops::Range;

/// A run of letters and digits.
#[derive(Clone, Debug)]
pub struct StatementWord {
    pub range: Range<usize>,
    pub lower: String,
}

/// Returns the words of a part of `text`, in order.
pub fn words(text: &str, within: Range<usize>) -> Vec<StatementWord> {
    let (mut found, mut start) = (Vec::new(), None);
    for (at, c) in text[within.clone()].char_indices().chain([(within.len(), ' ')]) {
        match (start, c.is_alphanumeric()) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                let range = within.start + from..within.start + at;
                found.push(StatementWord { lower: text[range.clone()].to_lowercase(), range });
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// Normalizes a text: no Markdown marks, lower case, single spaces, no punctuation at the ends. Equal results
/// mean the same sentence.
pub fn normal(text: &str) -> String {
    unmarked(text).to_lowercase()
}

/// Normalizes a text like [`normal`], but keeps capital letters. Equal results mean the same words.
pub fn unmarked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let word = word.trim_matches(['*', '`', '>', '#']);
        if word.is_empty() || matches!(word, "-" | "+") {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        word.split(['*', '`']).for_each(|part| out.push_str(part));
    }
    let quote = |c: char| matches!(c, '.' | '!' | ';' | ':' | ',' | '"' | '“' | '”' | ' ');
    out.trim_matches(quote).to_owned()
}

/// Words that are ignored when statements are compared, in order.
const FILLERS: [&str; 34] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "i", "in", "is",
    "it", "its", "my", "of", "on", "or", "our", "that", "the", "their", "this", "to", "user",
    "users", "wants", "was", "we", "with", "you",
];

/// Returns the content words of a text, with plurals turned into singulars.
pub fn content(text: &str) -> BTreeSet<String> {
    let words = words(text, 0..text.len()).into_iter().map(|word| word.lower);
    words
        .filter(|word| FILLERS.binary_search(&word.as_str()).is_err())
        .map(|word| singular(&word))
        .collect()
}

/// Removes the `s` of a plural from a word in lower case.
pub fn singular(word: &str) -> String {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() >= 3 && !stem.ends_with(['s', 'u', 'i']) => stem.to_owned(),
        _ => word.to_owned(),
    }
}

/// Words that turn a statement into its opposite.
#[rustfmt::skip]
pub const NEGATIONS: [&str; 20] = [
    "not", "no", "never", "don't", "doesn't", "won't", "isn't", "aren't", "can't", "cannot",
    "shouldn't", "mustn't", "avoid", "stop", "don’t", "doesn’t", "won’t", "isn’t", "aren’t",
    "can’t",
];

/// Whether the text contains a negation.
pub fn denies(text: &str) -> bool {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    text.split_whitespace().any(|word| NEGATIONS.contains(&bare(word).as_str()))
}

/// Returns the words that distinguish two things of one kind: numbers, names with capitals, and words with marks
/// inside. The capital of a sentence's first word does not count.
pub fn names(text: &str) -> BTreeSet<String> {
    let mut found = Vec::new();
    let mut first = true;
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let capital = bare.chars().skip(usize::from(first)).any(char::is_uppercase);
        let marked = bare.contains(['_', '/', '.', ':', '@']) || word.contains('`');
        if capital || marked || bare.chars().any(|c| c.is_ascii_digit()) {
            found.push(bare.to_lowercase());
        }
        first = word.ends_with(['.', '!', '?', ':']) || (first && bare.is_empty());
    }
    found.into_iter().collect()
}

/// Returns the share of all words that both sets contain: 1 if the sets are equal, 0 if they have no word in common.
#[allow(clippy::cast_precision_loss, reason = "word counts are far below 2^52")]
pub fn likeness<T: Ord>(one: &BTreeSet<T>, other: &BTreeSet<T>) -> f64 {
    let common = one.intersection(other).count();
    let all = one.len() + other.len() - common;
    common as f64 / all.max(1) as f64
}

/// Whether a word has a digit. Words with digits are never typos of each other: 3 and 4 are different numbers.
pub fn is_number(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_the_same_in_other_marks() {
        assert_eq!(normal("- **Use** `npm`  here."), "use npm here");
        assert_eq!(normal("> Use npm here"), normal("* use npm *here*!"));
        assert_ne!(normal("Use npm here"), normal("Use pnpm here"));
        assert_eq!(normal("Is it?"), "is it?");
    }

    #[test]
    fn the_fillers_are_in_order() {
        assert!(FILLERS.is_sorted());
    }

    #[test]
    fn names_tell_things_apart() {
        let of = |text| names(text).into_iter().collect::<Vec<_>>();
        assert_eq!(of("Deploys of Alpha go to port 80."), ["80", "alpha"]);
        assert_eq!(of("Read src/lib.rs first. Then stop"), ["src/lib.rs"]);
        assert!(of("- Nothing here").is_empty());
    }

    #[test]
    fn likeness_is_a_share() {
        let (one, other) = (content("prefers small commits"), content("Prefers small commit"));
        assert!((likeness(&one, &other) - 1.0).abs() < f64::EPSILON);
        assert!(likeness(&content("deploys"), &content("tabs")).abs() < f64::EPSILON);
        assert!(likeness(&content("the"), &content("")).abs() < f64::EPSILON);
    }
}
