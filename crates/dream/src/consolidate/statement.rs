//! Parses a sentence as a claim by simple rules, and decides whether another claim replaces it.
//!
//! A wrong "superseded" hides a true statement, so only simple sentences are claims: without conditions or exceptions,
//! and with at most one negation. A sentence that two rules could read differently is not a claim.

use std::sync::LazyLock;

use bethink_statement::{NEGATIONS, is_number, singular};

use crate::text::{WordList, word_set};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// The words of the claim in order, without fillers and negations.
    pub(super) words: Vec<String>,
    pub(super) negated: bool,
    /// The thing that was replaced: `npm` in "switched from npm to pnpm".
    replaced: Option<Replacement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Replacement {
    old: Vec<String>,
    /// Whether the change applies to the whole work and not only to a part of it.
    whole: bool,
}

static FILLERS: WordList = LazyLock::new(|| {
    word_set(
        "a an the we i you our my user please always now currently that do does longer anymore \
    again will should must team it they",
    )
});
/// A sentence with one of these words has a condition, an exception or an addition: its opposite may be true as well.
static CONDITIONS: WordList = LazyLock::new(|| {
    word_set(
        "if unless when whenever except but only until while where or also too both another \
    sometimes usually mostly maybe without either besides",
    )
});
/// After one of these words, a number is the claimed value, not the subject.
static STATES: WordList = LazyLock::new(|| {
    word_set(
        "is are = listen run use expire start end take has have set cost keep last allow equal",
    )
});
/// Words before a number that identifies a thing: a different number means a different thing, not a new value.
static COUNTED: WordList = LazyLock::new(|| {
    word_set(
        "plan step phase issue ticket pr iteration iter test case error exit status http line \
    page section rule level figure part chapter milestone #",
    )
});
/// Attributes that can have only one value at a time.
static ONE_AT_A_TIME: WordList = LazyLock::new(|| {
    word_set(
        "owner lead maintainer manager deadline port version limit timeout branch database \
    host url address timezone editor shell formatter linter default domain region",
    )
});
const USES: [&str; 4] = ["use", "prefer", "run", "like"];

impl Claim {
    /// Parses a sentence; `None` if it is not simple enough.
    pub(super) fn read(sentence: &str) -> Option<Self> {
        let all: Vec<String> = sentence.split_whitespace().filter_map(token).collect();
        let question = sentence.trim_end().ends_with('?');
        if question || all.len() > 25 || all.iter().any(|word| CONDITIONS.contains(word.as_str())) {
            return None;
        }
        let replaced = replaced(&all);
        let negations = all.iter().filter(|word| NEGATIONS.contains(&word.as_str())).count();
        if negations > 1 {
            return None;
        }
        let plain = |word: &&String| {
            !FILLERS.contains(word.as_str()) && !NEGATIONS.contains(&word.as_str())
        };
        let words: Vec<String> = all.iter().filter(plain).cloned().collect();
        (words.len() >= 2).then_some(Self { words, negated: negations == 1, replaced })
    }

    /// Returns keys that related claims share, so that not all pairs are compared.
    pub(super) fn keys(&self) -> Vec<String> {
        let shape = |word: &String| if is_number(word) { "#".to_owned() } else { word.clone() };
        let shape: Vec<String> = self.words.iter().map(shape).collect();
        let mut keys =
            vec![format!("w {}", self.words.join(" ")), format!("n {}", shape.join(" "))];
        keys.extend(self.one_at_a_time().map(|(subject, _)| format!("s {}", subject.join(" "))));
        keys.extend(self.used().map(|word| format!("u {word}")));
        keys.extend(
            self.replaced.iter().filter_map(|change| Some(format!("u {}", change.old.first()?))),
        );
        keys
    }

    /// Returns whether this later claim replaces `older`.
    pub(super) fn supersedes(&self, older: &Claim) -> bool {
        self.denies(older)
            || self.changes_number(older)
            || self.changes_value(older)
            || self.replaces(older)
    }

    /// Returns whether this claim denies the older one: "We no longer use npm" after "We use npm".
    fn denies(&self, older: &Claim) -> bool {
        self.negated != older.negated && self.words == older.words
    }

    /// Returns whether this claim changes the older one's number: "The API listens on port 5000" after "… 4000".
    fn changes_number(&self, older: &Claim) -> bool {
        if self.negated
            || older.negated
            || self.words.len() != older.words.len()
            || self.words.len() < 3
        {
            return false;
        }
        let verb = self.words.iter().position(|word| STATES.contains(word.as_str()));
        let Some(verb) = verb else { return false };
        let mut differ = 0;
        for (at, (new, old)) in self.words.iter().zip(&older.words).enumerate() {
            if new == old {
                continue;
            }
            let counted = at > 0 && COUNTED.contains(self.words[at - 1].as_str());
            if at <= verb || counted || !is_number(new) || !is_number(old) {
                return false;
            }
            differ += 1;
        }
        differ == 1
    }

    /// Returns whether this claim changes the older one's value and does not just add detail: "The branch is main"
    /// after "… is trunk".
    fn changes_value(&self, older: &Claim) -> bool {
        if self.negated || older.negated {
            return false;
        }
        let (Some(new), Some(old)) = (self.one_at_a_time(), older.one_at_a_time()) else {
            return false;
        };
        let within = |one: &[String], other: &[String]| one.iter().all(|word| other.contains(word));
        new.0 == old.0 && !within(new.1, old.1) && !within(old.1, new.1)
    }

    /// Returns whether this claim replaces the thing that the older one names: "We switched from npm to pnpm" after "We
    /// use npm".
    fn replaces(&self, older: &Claim) -> bool {
        let Some(change) = &self.replaced else { return false };
        let Some((verb, used)) = older.words.split_first() else { return false };
        let Some(rest) = used.strip_prefix(change.old.as_slice()) else { return false };
        if !USES.contains(&verb.as_str()) {
            return false;
        }
        !older.negated && (change.whole || rest.iter().all(|word| self.words.contains(word)))
    }

    /// Returns the subject and its value, if the subject can have only one value at a time.
    fn one_at_a_time(&self) -> Option<(&[String], &[String])> {
        let at = self.words.iter().position(|word| matches!(word.as_str(), "is" | "="))?;
        let (subject, value) = (&self.words[..at], &self.words[at + 1..]);
        let known = ONE_AT_A_TIME.contains(subject.last()?.as_str());
        (known && (1..=4).contains(&value.len())).then_some((subject, value))
    }

    fn used(&self) -> Option<&str> {
        let (verb, rest) = self.words.split_first()?;
        USES.contains(&verb.as_str()).then(|| rest.first().map(String::as_str))?
    }
}

/// Normalizes a word: lower case, and plurals to singulars.
fn token(word: &str) -> Option<String> {
    if word == "=" {
        return Some("=".to_owned());
    }
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/').to_lowercase();
    Some(match bare.as_str() {
        "" => return None,
        "using" => "use".to_owned(),
        _ if FILLERS.contains(bare.as_str()) || CONDITIONS.contains(bare.as_str()) => bare,
        _ if NEGATIONS.contains(&bare.as_str()) => bare,
        _ => singular(&bare),
    })
}

/// Finds the replaced thing in `switched from X to Y`, `replaced X with Y`, `Y instead of X`, `Y rather than X`.
fn replaced(all: &[String]) -> Option<Replacement> {
    const MOVES: [&str; 9] =
        ["switch", "switched", "move", "moved", "migrate", "migrated", "change", "changed", "went"];
    let position = |word: &str| all.iter().position(|other| other == word);
    if let (Some(from), Some(to)) = (position("from"), position("to"))
        && from < to
        && all[..from].iter().any(|word| MOVES.contains(&word.as_str()))
    {
        return change(&all[from + 1..to], from, all.len() - to - 1);
    }
    if let (Some(at), Some(with)) = (position("replaced"), position("with"))
        && at < with
    {
        return change(&all[at + 1..with], at, all.len() - with - 1);
    }
    let pair =
        |one: &str, two: &str| all.windows(2).position(|pair| pair[0] == one && pair[1] == two);
    let at = pair("instead", "of").or_else(|| pair("rather", "than"))?;
    change(&all[at + 2..], at, 0)
}

/// Makes the replacement of `old`. `before` and `after` are the numbers of words around the change; if there are many,
/// the change only applies to a part of the work.
fn change(old: &[String], before: usize, after: usize) -> Option<Replacement> {
    const FEW: usize = 3;
    let old: Vec<String> =
        old.iter().filter(|word| !FILLERS.contains(word.as_str())).cloned().collect();
    (1..=3).contains(&old.len()).then_some(Replacement { old, whole: before <= FEW && after < FEW })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(newer: &str, older: &str, expect: bool) {
        let supersedes = match (Claim::read(newer), Claim::read(older)) {
            (Some(newer), Some(older)) => {
                let shared = newer.keys().iter().any(|key| older.keys().contains(key));
                assert!(shared || !newer.supersedes(&older), "never compared: {newer:?}");
                newer.supersedes(&older)
            }
            _ => false,
        };
        assert_eq!(supersedes, expect, "{newer:?} over {older:?}");
    }

    #[test]
    fn a_later_claim_takes_the_place_of_what_it_denies() {
        check("We no longer use npm for installs.", "We use npm for installs.", true);
        check("Don't use tabs in Python files", "Always use tabs in Python files", true);
        check("Use tabs in Python files", "Never use tabs in Python files", true);
        check("The API listens on port 5000", "The API listens on port 4000.", true);
        check("The build timeout is 30 minutes", "The build timeout is 10 minutes", true);
        check("The default branch is trunk", "The default branch is main", true);
        check("The project's owner is Bo", "The project's owner is Ann", true);
        check("We switched from npm to pnpm", "We use npm for installs", true);
        check("Use pnpm instead of npm", "Use npm", true);
        check("We replaced Jest with Vitest", "We use Jest", true);
    }

    #[test]
    fn what_holds_beside_it_stays() {
        check("Tests of plan 17 are done", "Tests of plan 16 are done", false);
        check("Node 20 is supported", "Node 18 is supported", false);
        check("The worker listens on port 5000", "The API listens on port 4000", false);
        check("The API also listens on port 5000", "The API listens on port 4000", false);
        check("Never push to main without review", "Push to main after review", false);
        check("Don't use tabs if the file has spaces", "Use tabs", false);
        check("The API is fast", "The API is written in Rust", false);
        check("The owner is Ann Smith", "The owner is Ann", false);
        check("We moved the parser from lib to core", "We use npm", false);
        check(
            "For CI jobs of pull requests use pnpm instead of npm",
            "Use npm for installs",
            false,
        );
        check("We use npm", "We use npm", false);
        check("Should we use npm?", "We never use npm", false);
        check("Never not use npm", "Use npm", false);
        check("ok", "no", false);
    }
}
