//! Compares the meaning of two statements by their content words, numbers and negations.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use bethink_statement::{NEGATIONS, is_number, likeness};
use serde::{Deserialize, Serialize};

/// Minimum share of common words in statements with the same meaning.
const SAME: f64 = 0.75;
/// Minimum share of the shorter statement's words, without numbers, that two statements on the same subject have in common.
/// It is high, so that two different rules for "generated files" do not count as one.
const ABOUT: f64 = 0.8;

/// The meaning of a statement, independent of word order and form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meaning {
    /// Stems, without words that occur in statements of any subject.
    pub words: BTreeSet<String>,
    /// Whether the statement has a negation.
    pub negative: bool,
}

/// Words that mark a lesson but are not about its subject.
const TEACHING: &str = "always never now going forward henceforth future remember forget memory note keep mind prefer \
    want like make sure session every time ever user ask asked said told yes ok please reason";

/// All negations, in lower case.
static DENIALS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| NEGATIONS.into_iter().chain(DENIES.split(' ')).collect());
/// Negations in scripts without spaces.
const UNSPACED_DENIALS: [&str; 4] = ["不要", "别", "ない", "永远不"];

static IN_EVERY: LazyLock<BTreeSet<String>> = LazyLock::new(|| terms(TEACHING).collect());

/// Negations in addition to [`NEGATIONS`], in lower case.
const DENIES: &str = "dont without nie niemals nicht kein keine keinen ne pas jamais sans nunca jamás não non mai niet \
    nooit geen";

impl Meaning {
    pub fn of(text: &str) -> Self {
        let lower = text.to_lowercase().replace(['’', '‘'], "'");
        let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
        let negative = words.any(|word| DENIALS.contains(word))
            || !lower.is_ascii() && UNSPACED_DENIALS.iter().any(|denial| lower.contains(denial));
        let digits = lower.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
        let words = terms(text).filter(|term| !IN_EVERY.contains(term));
        Self { words: words.chain(digits.map(str::to_owned)).collect(), negative }
    }

    /// Whether both have the same meaning.
    pub fn same(&self, other: &Self) -> bool {
        if self.words.is_empty() || self.negative != other.negative {
            return false;
        }
        likeness(&self.words, &other.words) >= SAME && self.figures().eq(other.figures())
    }

    /// Whether both are about the same subject. The two statements may contradict each other.
    pub fn about(&self, other: &Self) -> bool {
        let named = |words: &BTreeSet<String>| -> BTreeSet<String> {
            words.iter().filter(|word| !is_number(word)).cloned().collect()
        };
        let (own, others) = (named(&self.words), named(&other.words));
        let shared = own.intersection(&others).count();
        shared >= 2 && shared as f64 >= ABOUT * own.len().min(others.len()) as f64
    }

    /// Whether a part of the text has the same meaning.
    pub fn within(&self, text: &str) -> bool {
        let parts = text.split(['\n', '.', '。']).map(str::trim).filter(|part| !part.is_empty());
        parts.map(Meaning::of).any(|part| self.same(&part))
    }

    fn figures(&self) -> impl Iterator<Item = &String> {
        self.words.iter().filter(|word| is_number(word))
    }
}

fn terms(text: &str) -> impl Iterator<Item = String> {
    let terms = bethink_recall::analyze(text);
    terms.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// Whether a word is a negation, such as `don't`; the apostrophe may be missing.
pub(crate) fn is_denial(word: &str) -> bool {
    DENIALS.contains(word) || DENIALS.iter().any(|denial| denial.replace(['\'', '’'], "") == word)
}

/// Whether a word occurs in statements of any subject.
pub(crate) fn is_common(word: &str) -> bool {
    terms(word).all(|term| IN_EVERY.contains(&term))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(one: &str, other: &str, same: bool) {
        assert_eq!(Meaning::of(one).same(&Meaning::of(other)), same, "{one} / {other}");
    }

    #[test]
    fn other_words_may_say_the_same() {
        check("Always use pnpm in the frontend.", "from now on, use pnpm in the frontend", true);
        check(
            "never push to main without asking",
            "Don't ever push to main without asking me",
            true,
        );
        check("I prefer short commit messages", "please remember: short commit messages", true);
        check("use pnpm in the frontend", "use yarn in the backend", false);
        check("always use tabs", "never use tabs", false);
        check("the demo is on May 3", "the demo is on May 4", false);
        check("yes", "ok", false);
    }

    #[test]
    fn a_longer_text_may_hold_it() {
        let text = "Rules of the house.\n- Use pnpm in the frontend\n- Sign commits";
        assert!(Meaning::of("from now on use pnpm in the frontend").within(text));
        assert!(!Meaning::of("never use pnpm in the frontend").within(text));
        let (one, other) = (Meaning::of("always use pnpm"), Meaning::of("never use pnpm"));
        assert!(one.about(&other) && !one.same(&other));
        assert!(!one.about(&Meaning::of("deploy on Mondays")));
        let about = |one: &str, other: &str| Meaning::of(one).about(&Meaning::of(other));
        assert!(about("the release demo is on May 3", "the release demo is on May 4"));
        assert!(!about("keep tabs in generated files", "keep imports in generated files"));
    }
}
