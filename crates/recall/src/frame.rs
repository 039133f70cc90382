//! The words of a question that only ask: `kind` of `what kind of`.
//!
//! They are words like others where something is said, so they can't be stop words of the index.

use crate::words::for_each_word;

/// After `what` or `which`, they only ask.
const KINDS: [&str; 8] = ["kind", "kinds", "sort", "sorts", "type", "types", "way", "ways"];

/// A question without the words that only ask, for what its terms are taken from.
pub(crate) fn without_frame(question: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(question: &str, expect: &str) {
        assert_eq!(without_frame(question), expect);
    }

    #[test]
    fn only_words_that_ask_go() {
        check("In what ways does it fail", "In what  does it fail");
        check("WHICH Type of lock is it", "WHICH  of lock is it");
        check("what the kinds are", "what the kinds are");
        check("the way it was", "the way it was");
        check("", "");
    }
}
