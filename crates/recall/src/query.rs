//! Chooses which terms of a question to search for.

use crate::terms::{TermShape, for_each_shaped_term};

/// Maximum number of terms to search for. If a question contains a pasted log, only the rarest words count.
pub const MAX_QUERY_TERMS: usize = 12;

/// Returns the distinct terms of a question that are probably the rarest, in the order in which they occur in it.
/// Returns no terms if the question consists of stop words.
pub fn query_terms(question: &str) -> Vec<String> {
    let mut terms: Vec<(String, usize)> = Vec::new();
    for_each_shaped_term(question, |term, shape, _| {
        // The limit is well above the number that is kept. It prevents quadratic time for a pasted file.
        if terms.len() < 64 * MAX_QUERY_TERMS && !terms.iter().any(|(seen, _)| seen == term) {
            terms.push((term.to_owned(), rarity(term, shape)));
        }
    });
    let mut order: Vec<usize> = (0..terms.len()).collect();
    order.sort_by_key(|i| (std::cmp::Reverse(terms[*i].1), *i));
    order.truncate(MAX_QUERY_TERMS);
    order.sort_unstable();
    order.into_iter().map(|i| std::mem::take(&mut terms[i].0)).collect()
}

/// Guesses how rare a term is: compound names are probably rarer than words, and long words rarer than short ones.
fn rarity(term: &str, shape: TermShape) -> usize {
    let shape = match shape {
        TermShape::Plain => 0,
        TermShape::Part => 1,
        TermShape::Joined => 6,
    };
    let digits = if term.bytes().any(|b| b.is_ascii_digit()) { 3 } else { 0 };
    shape + digits + term.chars().count().min(12)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(question: &str, expect: &[&str]) {
        assert_eq!(query_terms(question), expect, "{question}");
    }

    #[test]
    fn questions_lose_their_stop_words() {
        check("", &[]);
        check("what is it, and why?", &[]);
        check("Why did the daemon fail to start?", &["daemon", "fail", "start"]);
        check("error error ERROR", &["error"]);
        check("session_file", &["session", "file", "sessionfil"]);
        check("E0308", &["0308", "e0308"]);
    }

    #[test]
    fn the_rarest_looking_are_kept() {
        let question = "run the big red dog cat hat bat rat mat sat pat checkCompaction lib.rs now";
        let terms = query_terms(question);
        assert_eq!(terms.len(), MAX_QUERY_TERMS);
        for rare in ["checkcompact", "compact", "librs"] {
            assert!(terms.iter().any(|term| term == rare), "{terms:?}");
        }
        assert!(!terms.iter().any(|term| term == "pat"), "{terms:?}");
    }

    #[test]
    fn a_pasted_log_is_bounded() {
        let log: String = (0..100_000).map(|i| format!("line{i} ")).collect();
        assert_eq!(query_terms(&log).len(), MAX_QUERY_TERMS);
    }
}
