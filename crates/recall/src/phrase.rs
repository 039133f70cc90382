//! Scores messages that contain neighboring words or phrases of the question.

use crate::snippet::places;
use crate::terms::for_each_term;

/// Score for each pair of words that are neighbors in the question and in the message.
const PAIR: f32 = 0.9;
/// Score for each phrase of a question that a message contains verbatim. It is about as high as the score of a rare
/// word.
const PHRASE: f32 = 4.0;

/// Returns a score bonus for words that are adjacent both in the message and in the question.
pub fn together(text: &str, terms: &[String]) -> f32 {
    let mut found = vec![false; terms.len()];
    let mut before: Option<usize> = None;
    let places = places(terms);
    for_each_term(text, |term, _| {
        let place = places.get(term).copied();
        if let (Some(before), Some(place)) = (before, place)
            && before + 1 == place
        {
            found[before] = true;
        }
        before = place;
    });
    found.iter().filter(|found| **found).map(|_| PAIR).sum()
}

/// Returns a question's quoted phrases that have several words, in lower case.
pub fn quoted(question: &str) -> Vec<String> {
    let parts: Vec<&str> = question.split('"').collect();
    // A quote that is not closed is ignored.
    let closed = parts[..parts.len() - 1].iter().skip(1).step_by(2);
    closed.map(|inside| folded(inside)).filter(|phrase| phrase.contains(' ')).collect()
}

/// Whether the text contains every phrase, ignoring spacing and case.
pub fn holds(text: &str, phrases: &[String]) -> bool {
    phrases.len() == count_held(text, phrases)
}

/// Returns a message's additional score for the phrases that it contains.
pub fn held(text: &str, phrases: &[String]) -> f32 {
    count_held(text, phrases) as f32 * PHRASE
}

fn count_held(text: &str, phrases: &[String]) -> usize {
    if phrases.is_empty() {
        return 0;
    }
    let text = folded(text);
    phrases.iter().filter(|phrase| text.contains(phrase.as_str())).count()
}

fn folded(text: &str) -> String {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.chars().flat_map(char::to_lowercase).collect())
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query_terms;

    fn check(question: &str, text: &str, pairs: u8) {
        assert_eq!(together(text, &query_terms(question)), f32::from(pairs) * PAIR, "{text}");
    }

    #[test]
    fn neighbours_count_once_and_in_order() {
        check("retry with backoff jitter", "the retry has backoff", 1);
        check("retry with backoff jitter", "retry backoff jitter", 2);
        check("retry backoff", "retry backoff, retry backoff", 1);
        check("retry backoff", "backoff of a retry", 0);
        check("retry backoff", "retry our slow backoff", 0);
        check("retry", "retry retry", 0);
        check("", "retry", 0);
    }

    #[test]
    fn quotes_ask_for_what_they_hold() {
        assert_eq!(quoted("who said \"Not  Yet\" and \"when\"?"), ["not yet"]);
        assert_eq!(quoted("\"a b\" \"c d\""), ["a b", "c d"]);
        for open in ["", "\"", "\"a b", "a \"b c", "\"\""] {
            assert_eq!(quoted(open), [""; 0], "{open}");
        }
        assert!(holds("He said: not\n YET.", &quoted("\"not yet\"")));
        assert!(!holds("yet not", &quoted("\"not yet\"")));
        assert!(holds("anything", &[]));
        assert_eq!(held("a\nB and c d", &quoted("\"a b\" \"c d\" \"e f\"")), 2.0 * PHRASE);
        assert_eq!(held("anything", &[]), 0.0);
    }
}
