//! Turns words into index terms: lower case, compound names split, endings stripped.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use crate::stem::stem;
use crate::stop::is_stop;
use bethink_names::words::{
    CLASS, DIGIT, LETTER, LOWER, NameWord, UNDERSCORE, UPPER, WIDE, for_each_word, is_blob, is_hex,
};

/// Maximum number of times that a term is counted per field of a message. More mentions add no information.
pub const MAX_REPEATS: u8 = 3;

/// Minimum length of a term, in bytes. Scripts in which one letter is a word are exempt.
const MIN_TERM_BYTES: usize = 2;

/// Returns a text's index terms, in order, separated by spaces.
pub fn analyze(text: &str) -> String {
    let mut analyzer = Analyzer::default();
    analyzer.add(text);
    analyzer.finish()
}

/// Collects the terms of a field, which may consist of several blocks.
#[derive(Debug, Default)]
pub struct Analyzer {
    out: String,
    seen: HashMap<u64, u8, BuildHasherDefault<TermHasher>>,
}

impl Analyzer {
    pub fn add(&mut self, text: &str) {
        let (out, seen) = (&mut self.out, &mut self.seen);
        for_each_term(text, |term, _| {
            let count = seen.entry(hash(term.as_bytes())).or_default();
            if *count < MAX_REPEATS {
                *count += 1;
                if !out.is_empty() {
                    out.push(' ');
                }
                out.push_str(term);
            }
        });
    }

    pub fn finish(self) -> String {
        self.out
    }
}

/// How a term was made from a word, which hints at how rare the term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TermShape {
    Plain,
    /// A part of a compound name.
    Part,
    /// A whole compound name.
    Joined,
}

/// Calls `each` with every term of a text except stop words, and with the range of the word that the term comes from.
pub(crate) fn for_each_term(text: &str, mut each: impl FnMut(&str, Range<usize>)) {
    for_each_shaped_term(text, |term, _, range| each(term, range));
}

pub(crate) fn for_each_shaped_term(
    text: &str,
    mut each: impl FnMut(&str, TermShape, Range<usize>),
) {
    let mut buffer = String::with_capacity(2 * bethink_names::words::MAX_WORD_BYTES);
    let mut before: Option<Range<usize>> = None;
    for_each_word(text, |word| {
        let range = word.range.clone();
        if word.classes & WIDE == 0 && is_blob(&text.as_bytes()[range.clone()]) {
            before = None;
            return;
        }
        word_terms(text, &word, &mut buffer, &mut each);
        if let Some(left) = before.replace(range.clone())
            && is_dotted(text, &left, &range)
        {
            buffer.clear();
            push_lower(&mut buffer, &text[left.clone()]);
            push_lower(&mut buffer, &text[range.clone()]);
            // Do not strip endings: a file extension is not one.
            each(&buffer, TermShape::Joined, left.start..range.end);
        }
    });
}

/// Whether two words are the parts of a name such as `lib.rs`: they have one dot between them, and neither is a number.
fn is_dotted(text: &str, left: &Range<usize>, right: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    left.end + 1 == right.start
        && bytes[left.end] == b'.'
        && CLASS[bytes[left.start] as usize] & (LETTER | UNDERSCORE) != 0
        && CLASS[bytes[right.start] as usize] & (LETTER | UNDERSCORE) != 0
}

fn word_terms(
    text: &str,
    word: &NameWord,
    buffer: &mut String,
    each: &mut impl FnMut(&str, TermShape, Range<usize>),
) {
    let source = &text[word.range.clone()];
    if word.classes == LOWER {
        // The most common case: there is nothing to convert or split.
        if source.len() >= MIN_TERM_BYTES && !is_stop(source) {
            each(&stem(source), TermShape::Plain, word.range.clone());
        }
        return;
    }
    if word.classes & WIDE != 0 {
        return wide_terms(source, word.range.start, buffer, each);
    }
    let mut parts = 0;
    if is_put_together(source.as_bytes(), word.classes) {
        for_each_part(source.as_bytes(), |part| {
            parts += 1;
            let part = word.range.start + part.start..word.range.start + part.end;
            plain_term(&text[part.clone()], TermShape::Part, part, buffer, each);
        });
    }
    // The only part of `__init__` is the whole name.
    if parts != 1 {
        let shape = if parts == 0 { TermShape::Plain } else { TermShape::Joined };
        plain_term(source, shape, word.range.clone(), buffer, each);
    }
}

fn plain_term(
    source: &str,
    shape: TermShape,
    range: Range<usize>,
    buffer: &mut String,
    each: &mut impl FnMut(&str, TermShape, Range<usize>),
) {
    buffer.clear();
    push_lower(buffer, source);
    if buffer.len() >= MIN_TERM_BYTES && !is_stop(buffer) {
        each(&stem(buffer), shape, range);
    }
}

/// Returns terms of words with non-ASCII letters. In scripts without spaces, each pair of letters is a term.
fn wide_terms(
    source: &str,
    start: usize,
    buffer: &mut String,
    each: &mut impl FnMut(&str, TermShape, Range<usize>),
) {
    let spaceless = source.chars().next().is_some_and(bethink_names::words::is_spaceless);
    if !spaceless {
        if source.len() > bethink_names::words::MAX_WORD_BYTES {
            return;
        }
        buffer.clear();
        buffer.extend(source.chars().filter(|c| *c != '_').flat_map(char::to_lowercase));
        return each(buffer, TermShape::Plain, start..start + source.len());
    }
    let places: Vec<usize> = source.char_indices().map(|(at, _)| at).collect();
    let pair_end = |i: usize| places.get(i + 2).copied().unwrap_or(source.len());
    let pairs = places.len().saturating_sub(1).max(1);
    for (i, first) in places.iter().enumerate().take(pairs) {
        let range = *first..pair_end(i);
        each(&source[range.clone()], TermShape::Plain, start + range.start..start + range.end);
    }
}

/// Whether a word is a compound name: it has an inner capital, an underscore, or both letters and digits.
fn is_put_together(word: &[u8], classes: u8) -> bool {
    match classes {
        LOWER | UPPER | DIGIT => false,
        _ if classes & UNDERSCORE != 0 => true,
        _ if classes & DIGIT != 0 => !is_hex(word) || word.len() < 7,
        _ => word[1..].iter().any(u8::is_ascii_uppercase),
    }
}

/// Splits a compound name at underscores and capitals, and between letters and digits.
fn for_each_part(word: &[u8], mut each: impl FnMut(Range<usize>)) {
    let class = |at: usize| word.get(at).map_or(0, |byte| CLASS[*byte as usize]);
    let mut start = 0;
    for at in 1..=word.len() {
        let (left, right) = (class(at - 1), class(at));
        let inside = match (left, right) {
            (UPPER, UPPER) => class(at + 1) != LOWER || is_plural(word, at + 1),
            (UPPER, LOWER) => true,
            _ => left == right,
        };
        if !inside {
            if left != UNDERSCORE && !(start == 0 && at == word.len()) {
                each(start..at);
            }
            start = at;
        }
    }
}

/// Whether the letter at `at` is the `s` of a plural such as `URLs`.
fn is_plural(word: &[u8], at: usize) -> bool {
    word[at] == b's' && word.get(at + 1).is_none_or(|byte| CLASS[*byte as usize] != LOWER)
}

/// Appends the word in lower case, without underscores.
fn push_lower(buffer: &mut String, source: &str) {
    if !source.is_ascii() {
        return buffer.extend(source.chars().filter(|c| *c != '_').flat_map(char::to_lowercase));
    }
    let start = buffer.len();
    source.split('_').for_each(|part| buffer.push_str(part));
    buffer[start..].make_ascii_lowercase();
}

/// Hashes eight bytes per step. A collision only merges the counts of two terms in the same message.
fn hash(term: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = term.len() as u64;
    for chunk in term.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER);
    }
    hash ^ (hash >> 32)
}

#[derive(Debug, Default)]
pub struct TermHasher(u64);

impl Hasher for TermHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(bytes);
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

#[cfg(test)]
mod tests;
