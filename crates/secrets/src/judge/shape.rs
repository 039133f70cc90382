//! Tests of a value's shape: placeholders, words, identifiers, paths, times.

use crate::table::TABLE;

/// Returns the Shannon entropy of a value's bytes.
pub(super) fn entropy(value: &str) -> f64 {
    let mut counts = [0u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let total = f64::from(u32::try_from(value.len().max(1)).unwrap_or(u32::MAX));
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}

/// Returns whether a value is a placeholder, with or without the form of a key.
pub(super) fn stands_in(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    TABLE.words.placeholders.iter().any(|part| lower.contains(part))
        || words(&lower).next().is_none()
        || has_word(&lower, &TABLE.words.placeholder_parts)
}

pub(super) fn says_nothing(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    stands_in(value) || has_word(&lower, &TABLE.words.placeholder_words)
}

fn has_word(text: &str, list: &[String]) -> bool {
    words(text).any(|word| list.iter().any(|known| known == word))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

/// Returns whether a value consists of separators and of words that are all in one case: `sk-proj-some-long-title`.
pub(super) fn is_words(value: &str) -> bool {
    let letters = || value.bytes().filter(u8::is_ascii_alphabetic);
    let one_case = letters().all(|byte| byte.is_ascii_lowercase())
        || letters().all(|byte| byte.is_ascii_uppercase());
    one_case && value.contains(['-', '_', '.']) && !value.bytes().any(|byte| byte.is_ascii_digit())
}

pub(super) fn refers(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    TABLE.words.references.iter().any(|start| lower.starts_with(start))
        || value.contains("${")
        || value.contains("{{")
}

/// Returns whether a value consists of words with separators, like an identifier.
pub(super) fn is_identifier(value: &str) -> bool {
    value.contains(['_', '-', '.', '/', ':']) && is_humps(value)
}

/// Returns whether a value consists of words with hyphens like a passphrase: two words and a number, such as
/// `Winter-Blau-77` or `Winter_Blau_77`, or at least four words. A value with a word from the list
/// `phrase_words` is no passphrase: it is usually a name or a placeholder.
pub(super) fn is_passphrase(value: &str) -> bool {
    let mut words: usize = 0;
    let mut numbers: usize = 0;
    let is_title_case = value.contains(char::is_lowercase)
        && value.split('_').all(|part| !part.starts_with(char::is_lowercase));
    for part in value.split(|c| c == '-' || c == '_' && is_title_case) {
        let lower = part.to_lowercase();
        match part.len() {
            1..=4 if part.bytes().all(|byte| byte.is_ascii_digit()) => numbers += 1,
            3.. if part.chars().all(char::is_alphabetic)
                && !TABLE.words.phrase_words.contains(&lower)
                && is_word(part) =>
            {
                words += 1;
            }
            _ => return false,
        }
    }
    words >= 4 || words >= 2 && numbers == 1
}

/// Returns whether every piece between separators and case changes is a word, a short number, or both.
pub(super) fn is_humps(value: &str) -> bool {
    let mut humps: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in value.chars() {
        let hump = c.is_ascii_uppercase() && before.is_ascii_lowercase();
        let begins = hump || !before.is_ascii_alphanumeric();
        if c.is_ascii_alphanumeric() {
            match humps.last_mut().filter(|_| !begins) {
                Some(hump) => hump.push(c),
                None => humps.push(c.to_string()),
            }
        } else if !matches!(c, '_' | '-' | '.' | '/' | ':') {
            return false;
        }
        before = c;
    }
    humps.iter().all(|hump| is_word(hump))
}

fn is_word(hump: &str) -> bool {
    let letters = hump.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = hump.len() - letters.len();
    let one_case = letters.bytes().skip(1).all(|byte| byte.is_ascii_lowercase())
        || letters.bytes().all(|byte| byte.is_ascii_uppercase());
    let spoken = letters.len() < 4 || letters.bytes().any(|byte| b"aeiouyAEIOUY".contains(&byte));
    letters.bytes().all(|byte| byte.is_ascii_alphabetic()) && one_case && spoken && digits <= 4
}

pub(super) fn is_uuid(value: &str) -> bool {
    let parts: Vec<&str> = value.split('-').collect();
    let lens: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lens == [8, 4, 4, 4, 12]
        && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns whether each part between slashes is a word or a file name.
pub(super) fn is_path(value: &str) -> bool {
    value.contains('/')
        && value.split('/').all(|part| part.is_empty() || is_identifier(part) || is_word(part))
}

pub(super) fn is_known_term(value: &str) -> bool {
    TABLE.words.terms.contains(&value.to_ascii_lowercase())
}

/// Returns whether a value is a time, duration or version: `2026-11-22T07:18:56Z`, `30m`, `1.2.3-rc.1`.
pub(super) fn is_time_or_version(value: &str) -> bool {
    let rest = value.trim_start_matches('v');
    let figures =
        rest.bytes().filter(|byte| byte.is_ascii_digit() || b".:-+TZ".contains(byte)).count();
    rest.starts_with(|c: char| c.is_ascii_digit())
        && figures * 4 >= rest.len() * 3
        && value.contains(['-', '.', ':'])
}
