//! Words that say nothing about a text, in English.

/// Sorted, lower case, in the form before endings are stripped.
#[rustfmt::skip]
const STOP: &[&str] = &[
    "about", "above", "after", "again", "against", "all", "also", "am", "an", "and", "any", "are",
    "aren", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both",
    "but", "by", "can", "cannot", "could", "couldn", "did", "didn", "do", "does", "doesn", "doing",
    "don", "done", "down", "during", "each", "few", "for", "from", "further", "had", "hadn", "has",
    "hasn", "have", "haven", "having", "he", "her", "here", "hers", "herself", "him", "himself",
    "his", "how", "if", "in", "into", "is", "isn", "it", "its", "itself", "just", "ll", "may", "me",
    "might", "more", "most", "must", "my", "myself", "no", "nor", "not", "now", "of", "off", "on",
    "once", "only", "or", "other", "our", "ours", "out", "over", "own", "please", "re", "same",
    "shall", "she", "should", "shouldn", "so", "some", "such", "than", "that", "the", "their",
    "theirs", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too",
    "under", "until", "up", "us", "ve", "very", "was", "wasn", "we", "were", "weren", "what",
    "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "won",
    "would", "wouldn", "you", "your", "yours", "yourself",
];

const LONGEST: usize = 8;

const BUCKETS: usize = 1024;

/// Hashed at compile time: every word of every text is asked for here.
static TABLE: [&str; BUCKETS] = {
    let mut table = [""; BUCKETS];
    let mut i = 0;
    while i < STOP.len() {
        let mut at = bucket(STOP[i].as_bytes());
        while !table[at].is_empty() {
            at = (at + 1) % BUCKETS;
        }
        table[at] = STOP[i];
        i += 1;
    }
    table
};

/// Whether a word of at least two bytes, in lower case, is one of them.
pub(crate) fn is_stop(word: &str) -> bool {
    if word.len() > LONGEST || word.len() < 2 {
        return false;
    }
    let mut at = bucket(word.as_bytes());
    while !TABLE[at].is_empty() {
        if TABLE[at] == word {
            return true;
        }
        at = (at + 1) % BUCKETS;
    }
    false
}

const fn bucket(word: &[u8]) -> usize {
    let last = word.len() - 1;
    let mixed = word[0] as usize * 31 + word[1] as usize * 421 + word[last] as usize * 7;
    (mixed + word.len() * 97) % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_reached() {
        assert!(STOP.is_sorted());
        assert!(STOP.iter().all(|word| is_stop(word)));
        for word in ["session", "thes", "", "a", "ab", "zz"] {
            assert!(!is_stop(word), "{word}");
        }
    }
}
