//! English stop words: they say nothing about the subject of a text.

use std::sync::LazyLock;

/// The stop words, in lower case, before stemming.
const STOP: &str = include_str!("stop.txt");

const LONGEST: usize = 8;

const BUCKETS: usize = 1024;

/// A custom hash table, for speed: every word of every text is looked up here.
static TABLE: LazyLock<[&str; BUCKETS]> = LazyLock::new(|| {
    let mut table = [""; BUCKETS];
    for word in STOP.split_whitespace() {
        let mut at = bucket(word.as_bytes());
        while !table[at].is_empty() {
            at = (at + 1) % BUCKETS;
        }
        table[at] = word;
    }
    table
});

/// Whether a word of at least two bytes, in lower case, is a stop word.
pub(crate) fn is_stop(word: &str) -> bool {
    if word.len() > LONGEST || word.len() < 2 {
        return false;
    }
    let table = &*TABLE;
    let mut at = bucket(word.as_bytes());
    while !table[at].is_empty() {
        if table[at] == word {
            return true;
        }
        at = (at + 1) % BUCKETS;
    }
    false
}

fn bucket(word: &[u8]) -> usize {
    let last = word.len() - 1;
    let mixed = word[0] as usize * 31 + word[1] as usize * 421 + word[last] as usize * 7;
    (mixed + word.len() * 97) % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_reached() {
        assert!(STOP.split_whitespace().is_sorted());
        assert!(STOP.split_whitespace().all(is_stop));
        for word in ["session", "thes", "", "a", "ab", "zz"] {
            assert!(!is_stop(word), "{word}");
        }
    }
}
