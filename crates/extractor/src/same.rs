//! Compares the meaning of two statements by their content words, numbers and negations.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use bethink_statement::{NEGATIONS, is_number, likeness};
use regex::Regex;
use serde::{Deserialize, Serialize};

/// Minimum share of common words in statements with the same meaning.
const SAME: f64 = 0.75;
/// Minimum share of common words in decisions against the same thing.
const SAME_CHOICE: f64 = 0.5;
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
    /// Stems of what the statement decides against: `npm` in "pnpm instead of npm".
    #[serde(default)]
    pub against: BTreeSet<String>,
}

/// Words that mark a lesson but are not about its subject.
const TEACHING: &str = "always never now going forward henceforth future remember forget memory note keep mind prefer \
    want like make sure session every time ever user ask asked said told yes ok please reason";

/// Marks a stored word as one that the statement decides against.
const AGAINST: char = '≠';
/// Words that are common in decisions and reasons. They are ignored when two decisions are compared.
const DECIDING: &str = "decide decided choose chose chosen go going went gone pick picked opt opted settle settled use using \
    used switch switched take keep stick instead rather than over place opposed because since due need needs needed reason \
    wir uns haben nehmen nutzen verwenden entschieden statt anstatt weil";

/// Precedes what a statement decides against, up to a reason.
static CONTRAST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let before = r"(?:instead of|rather than|in place of|as opposed to|(?:(?:and|but) |, ?)not|(?:prefer|choose|chose|pick|picked)\w* [^,.;]{1,30} over|anstatt|statt|anstelle von|(?:und|, ?) ?nicht|plutôt que|au lieu de|en vez de|en lugar de|invece di|in plaats van)";
    let reason = r"[^,.;:!?()]{1,40}?";
    let end = r"(?:[,.;:!?()]|\b(?:because|since|as|for|due|so|when|if|while|weil|da|parce|porque|perché)\b|$)";
    Regex::new(&format!(r"(?:\b|,){before}\s({reason}){end}")).ok()
});

/// All negations, in lower case.
static DENIALS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| NEGATIONS.into_iter().chain(DENIES.split(' ')).collect());
/// Negations in scripts without spaces.
const UNSPACED_DENIALS: [&str; 4] = ["不要", "别", "ない", "永远不"];

static IN_EVERY: LazyLock<BTreeSet<String>> = LazyLock::new(|| terms(TEACHING).collect());
static IN_DECISIONS: LazyLock<BTreeSet<String>> = LazyLock::new(|| terms(DECIDING).collect());

/// Negations in addition to [`NEGATIONS`], in lower case.
const DENIES: &str = "dont without nie niemals nicht kein keine keinen ne pas jamais sans nunca jamás não non mai niet \
    nooit geen";

impl Meaning {
    pub fn of(text: &str) -> Self {
        let lower = text.to_lowercase().replace(['’', '‘'], "'");
        let (against, rest) = contrast(&lower);
        let mut words = rest.split(|c: char| !c.is_alphanumeric() && c != '\'');
        let negative = words.any(|word| DENIALS.contains(word))
            || !lower.is_ascii() && UNSPACED_DENIALS.iter().any(|denial| lower.contains(denial));
        let digits = lower.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
        let words = terms(text).filter(|term| !IN_EVERY.contains(term));
        Self { words: words.chain(digits.map(str::to_owned)).collect(), negative, against }
    }

    /// Returns the words in the form in which they are stored: those that the statement decides against are marked.
    pub fn into_stored(self) -> (BTreeSet<String>, bool) {
        let against = self.against.iter().map(|word| format!("{AGAINST}{word}"));
        (self.words.into_iter().chain(against).collect(), self.negative)
    }

    pub fn from_stored(words: BTreeSet<String>, negative: bool) -> Self {
        let against = words.iter().filter_map(|word| word.strip_prefix(AGAINST)).map(str::to_owned);
        let against = against.collect();
        let words = words.into_iter().filter(|word| !word.starts_with(AGAINST)).collect();
        Self { words, negative, against }
    }

    /// Whether this repeats a statement that a person refused. Two decisions that favour and reject the same things are the same,
    /// also in other words.
    pub fn repeats(&self, refused: &Self) -> bool {
        if !self.agrees(refused) || !self.figures().eq(refused.figures()) {
            return false;
        }
        if self.same(refused) {
            return true;
        }
        let (own, others) = (&self.words - &*IN_DECISIONS, &refused.words - &*IN_DECISIONS);
        let least = if self.against.is_empty() { SAME } else { SAME_CHOICE };
        own.len().min(others.len()) >= 2 && likeness(&own, &others) >= least
    }

    /// Whether both are negative or neither, and both decide against the same thing or nothing.
    fn agrees(&self, other: &Self) -> bool {
        self.negative == other.negative
            && self.against.is_empty() == other.against.is_empty()
            && (self.against.is_empty() || !self.against.is_disjoint(&other.against))
    }

    /// Whether both have the same meaning.
    pub fn same(&self, other: &Self) -> bool {
        if self.words.is_empty() || !self.agrees(other) {
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

/// Returns the stems of what a statement decides against, and the statement without the words that say so.
fn contrast(lower: &str) -> (BTreeSet<String>, Cow<'_, str>) {
    let Some(pattern) = &*CONTRAST else { return Default::default() };
    let mut against = BTreeSet::new();
    for found in pattern.captures_iter(lower) {
        let words = found.get(1).map_or("", |words| words.as_str());
        against.extend(terms(words).filter(|term| !IN_EVERY.contains(term)));
    }
    if against.is_empty() {
        return (against, Cow::Borrowed(lower));
    }
    (against, pattern.replace_all(lower, " $1 "))
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
    fn a_refused_decision_is_recognized_in_other_words() {
        let check = |one: &str, other: &str, repeats: bool| {
            let (one_of, other_of) = (Meaning::of(one), Meaning::of(other));
            assert_eq!(
                one_of.repeats(&other_of),
                repeats,
                "{one} / {other}: {one_of:?} {other_of:?}"
            );
            let (words, negative) = other_of.into_stored();
            assert_eq!(Meaning::from_stored(words, negative).repeats(&one_of), repeats, "{one}");
        };
        let kafka = "I decided to go with Kafka instead of RabbitMQ because we need replay.";
        check(kafka, "We decided on Kafka rather than RabbitMQ since replay is needed.", true);
        check(kafka, "Kafka it is, not RabbitMQ: we need replay", true);
        check(kafka, "Let's use Kafka, not the old RabbitMQ cluster", true);
        check(kafka, "We decided on RabbitMQ rather than Kafka since replay is needed.", false);
        check(kafka, "We decided on Kafka rather than Pulsar since replay is needed.", false);
        check(kafka, "We run RabbitMQ and Kafka.", false);
        let redis = "I decided to go with Redis instead of Memcached.";
        check(redis, "We use Redis and not Memcached.", true);
        check(redis, "Wir nehmen Redis statt Memcached", true);
        check(redis, "We use Memcached and not Redis.", false);
        check(redis, "We never use Redis or Memcached.", false);
        check(
            "We decided to drop Windows support",
            "we chose dropping the support of Windows",
            true,
        );
        check("We decided to drop Windows support", "We decided to drop macOS support", false);
        check("use pnpm", "use yarn", false);
        check("commit and push", "commit and not push", false);
        check("always use tabs", "never use tabs", false);
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
