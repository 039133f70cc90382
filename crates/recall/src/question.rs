//! Parses a question: what to look up, and how to rank the results.

use crate::phrase::quoted;
use crate::query::query_terms;
use bethink_names::words::for_each_word;

/// A query with at most this many words consists of keywords and is not a question.
const KEYWORDS: usize = 2;
/// Related words must share this many leading bytes, and their lengths may differ by at most this many.
const FAMILY_BYTES: usize = 5;
pub const FAMILY_SPREAD: usize = 4;
/// Words that mean nothing after `what` or `which` (`what kind of`). They are not stop words elsewhere.
const KINDS: [&str; 8] = ["kind", "kinds", "sort", "sorts", "type", "types", "way", "ways"];
/// Maximum number of a question's words that are looked up as names of speakers.
const MOST_NAMES: usize = 16;

/// A parsed question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    pub terms: Vec<String>,
    /// Prefixes that a term may share with related words, each with the number of that term.
    pub families: Vec<(usize, String)>,
    /// Quoted phrases, in lower case.
    pub phrases: Vec<String>,
    /// Whether a hit must contain the phrases. This is false if there is a question outside the quotes. The phrases are
    /// then probably titles or names, which a message may word differently, so they only increase the score of a hit.
    pub needs_phrases: bool,
    /// The question's words in lower case. Any of them may be a speaker's name.
    pub words: Vec<String>,
    /// Whether the question consists of a few keywords rather than a sentence, so that hits must contain them.
    pub is_keywords: bool,
    /// Whether the question asks when something happened, or how long it took.
    pub asks_when: bool,
}

impl Question {
    pub fn new(text: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        let mut start = Vec::new();
        for_each_word(text, |word| {
            let word = &text[word.range];
            if start.len() < 2 {
                start.push(word.to_lowercase());
            }
            if words.len() < MOST_NAMES && word.len() > 1 {
                let word = word.to_lowercase();
                if !crate::stop::is_stop(&word) && !words.contains(&word) {
                    words.push(word);
                }
            }
        });
        let starts: Vec<&str> = start.iter().map(String::as_str).collect();
        let asks_when =
            matches!(starts[..], ["when", ..] | ["how", "long"] | ["what", "day" | "date"]);
        let asks =
            text.contains('?') || starts.first().is_some_and(|first| crate::stop::is_stop(first));
        let mut terms = if asks { query_terms(&without_frame(text)) } else { Vec::new() };
        if terms.is_empty() {
            terms = query_terms(text);
        }
        Self {
            families: families(&terms),
            phrases: quoted(text),
            needs_phrases: !asks_around_quotes(text, asks),
            is_keywords: words.len() <= KEYWORDS && !asks,
            terms,
            words,
            asks_when,
        }
    }
}

/// Removes words that only introduce the question, such as `what kind of`.
fn without_frame(question: &str) -> String {
    let mut out = String::with_capacity(question.len());
    let mut copied = 0;
    let mut asked = false;
    for_each_word(question, |word| {
        let text = question[word.range.clone()].to_lowercase();
        if asked && KINDS.contains(&text.as_str()) {
            out.push_str(&question[copied..word.range.start]);
            copied = word.range.end;
        }
        asked = matches!(text.as_str(), "what" | "which");
    });
    out.push_str(&question[copied..]);
    out
}

/// Whether there is a question outside the quotes.
fn asks_around_quotes(text: &str, asks: bool) -> bool {
    let asked_outside = text.split('"').step_by(2).any(|outside| outside.contains('?'));
    asked_outside || (asks && !text.contains('?') && !text.trim_start().starts_with('"'))
}

/// Returns prefixes of the terms, such as `paint` for `painting`. Terms with digits or non-ASCII letters are left out.
fn families(terms: &[String]) -> Vec<(usize, String)> {
    let is_plain = |term: &&String| term.bytes().all(|byte| byte.is_ascii_lowercase());
    let start = |term: &String| Some(term.get(..FAMILY_BYTES)?.to_owned());
    let numbered = terms.iter().enumerate().filter(|(_, term)| is_plain(term));
    numbered.filter_map(|(number, term)| Some((number, start(term)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_terms_names_and_a_kind() {
        let question = Question::new("When did Caroline's sister paint?");
        assert_eq!(question.terms, ["carolin", "sister", "paint"]);
        assert_eq!(question.words, ["caroline", "sister", "paint"]);
        let carol = (0, "carol".to_owned());
        assert_eq!(question.families, [carol, (1, "siste".to_owned()), (2, "paint".to_owned())]);
        assert!(question.asks_when);
        assert!(Question::new("How long did it run?").asks_when);
        assert!(!Question::new("how does it run when idle").asks_when);
        assert!(Question::new("?!").terms.is_empty());
        assert!(Question::new("retry backoff").is_keywords);
        assert!(!Question::new("retry backoff?").is_keywords);
        assert!(!Question::new("the retry").is_keywords);
        assert!(!Question::new("retry backoff jitter").is_keywords);
        assert_eq!(Question::new("what kind of lock is it?").terms, ["lock"]);
        assert_eq!(Question::new("what kinds are there?").terms, ["kind"], "nothing else is said");
    }

    #[test]
    fn quotes_bind_where_no_sentence_asks() {
        for quote in ["\"not yet\"", "\"why not yet?\"", "retry \"not yet\""] {
            assert!(Question::new(quote).needs_phrases, "{quote}");
        }
        assert!(!Question::new("where is \"not yet\"").needs_phrases);
        let question = Question::new("When did Ann read \"not yet\"?");
        assert_eq!(
            (question.needs_phrases, &question.phrases[..]),
            (false, &["not yet".to_owned()][..])
        );
    }

    fn check_frame(question: &str, expect: &str) {
        assert_eq!(without_frame(question), expect);
    }

    #[test]
    fn only_words_that_ask_go() {
        check_frame("In what ways does it fail", "In what  does it fail");
        check_frame("WHICH Type of lock is it", "WHICH  of lock is it");
        check_frame("what the kinds are", "what the kinds are");
        check_frame("the way it was", "the way it was");
        check_frame("", "");
    }
}
