//! Sentences that state a decision, preferably with its reason.

use std::sync::Arc;

use bethink_transcript::Seq;
use bethink_transcript::text::shorten;

/// A sentence that states a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedDecision {
    pub seq: Seq,
    pub text: Arc<str>,
    pub by_user: bool,
}

/// Maximum size of a recorded sentence, in bytes.
const SENTENCE_BYTES: usize = 260;
/// Maximum number of decisions taken from one text: a design document has dozens.
const MAX_PER_TEXT: usize = 6;

/// Phrases that state a decision with its reason. They are worth more than the announcement of a step.
const REASONS: &str = "because |so that |instead of |rather than |root cause|turns out|the reason |by design|\
    decided";
/// Other phrases with which people and models decide something.
const SETTLES: &str = "the problem is|the issue is|the fix is|we should |let's |must not |should not |agreed|\
    won't |no longer |keep |is intentional|trade-off|prefer |will use |i'll use |going with ";
/// Phrases that only announce a step.
const STEPS: &str =
    "let's run|let's check|let's see|let's look|let's test|let's verify|let's read|let me ";

/// Returns the sentences of `text` that state a decision.
pub(crate) fn in_text(seq: Seq, text: &str, by_user: bool) -> Vec<StatedDecision> {
    let mut found: Vec<(bool, &str)> = Vec::new();
    for sentence in sentences(text) {
        let lower = sentence.to_lowercase();
        let has = |phrases: &str| phrases.split('|').any(|phrase| lower.contains(phrase));
        let reason = has(REASONS);
        if reason || has(SETTLES) && !has(STEPS) {
            found.push((reason, sentence));
        }
    }
    if found.len() > MAX_PER_TEXT {
        found.sort_by_key(|(reason, _)| !reason);
        found.truncate(MAX_PER_TEXT);
    }
    let decision = |(_, sentence)| {
        let text = shorten(sentence, SENTENCE_BYTES).into();
        StatedDecision { seq, text, by_user }
    };
    found.into_iter().map(decision).collect()
}

/// Sentences and list items of prose, without code blocks and tables.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    const MIN_BYTES: usize = 24;
    const MAX_BYTES: usize = 1_000;
    let mut in_code = false;
    text.lines()
        .filter(move |line| {
            let fence = line.trim_start().starts_with("```");
            in_code ^= fence;
            !in_code && !fence && !line.trim_start().starts_with('|')
        })
        .flat_map(|line| line.split_inclusive(". "))
        .map(|sentence| {
            sentence.trim().trim_start_matches(['-', '*', '#', '>', ' ']).trim_end_matches("**")
        })
        .filter(|sentence| (MIN_BYTES..=MAX_BYTES).contains(&sentence.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_that_settle_something() {
        let check = |text: &str, expect: &[&str]| {
            let found = in_text(Seq(1), text, false);
            assert_eq!(found.iter().map(|d| &*d.text).collect::<Vec<_>>(), expect, "{text}");
        };
        check(
            "I looked. I'll use a table because a file would race. Done now.",
            &["I'll use a table because a file would race."],
        );
        check("Let's run the tests and see what they say.", &[]);
        check("```\nkeep this comment in the code block\n```", &[]);
        check("| keep | this table out of it all |", &[]);
        check(
            "- The lease is kept rather than renewed.",
            &["The lease is kept rather than renewed."],
        );
        check("short because", &[]);
    }

    #[test]
    fn a_long_document_gives_its_reasons() {
        let steps = "We should do one more of these things here. ".repeat(20);
        let found = in_text(Seq(1), &format!("{steps}It fails because the clock jumps."), true);
        assert_eq!(found.len(), MAX_PER_TEXT);
        assert!(found.iter().any(|d| d.text.contains("the clock jumps")));
    }
}
