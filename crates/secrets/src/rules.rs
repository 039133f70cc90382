//! Which texts are keys. Each rule has words without which it cannot match, so that one pass over a text
//! says which few expressions to run.
//!
//! Prefixes, lengths and alphabets are what the providers write about their keys; the idea of the table is
//! that of gitleaks. Checksums within keys are not looked at: a key with a typing error is still most of a key.

mod apps;
mod cloud;
mod code;
mod general;
mod models;

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};

use crate::judge::{self, Candidate};
use crate::view::View;

/// Bytes of a compiled expression; the largest of ours takes a fraction.
const MOST_COMPILED: usize = 4 << 20;

/// One kind of secret.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// Stable: people name it where they allow a finding.
    pub(crate) id: &'static str,
    /// With its article.
    pub(crate) what: &'static str,
    /// One of them stands in every match, in any case; none means that the rule runs where dots stand as in a
    /// token of three parts.
    keywords: &'static [&'static str],
    shape: Shape,
    judge: fn(&Candidate<'_>) -> bool,
    /// Known by its context alone, so that another rule says more about the same line.
    pub(crate) generic: bool,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    /// The expression, case-sensitive; its first group is the value where it has one.
    Token(&'static str),
    /// A value that is nothing special, assigned to a name that is.
    Named { name: &'static str, value: &'static str },
}

/// A key that is known by how it looks.
const fn token(
    id: &'static str,
    what: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
) -> Rule {
    let shape = Shape::Token(pattern);
    Rule { id, what, keywords, shape, judge: judge::token, generic: false }
}

/// A key that is known by the name before it.
const fn named(
    id: &'static str,
    what: &'static str,
    keywords: &'static [&'static str],
    name: &'static str,
    value: &'static str,
) -> Rule {
    let shape = Shape::Named { name, value };
    Rule { id, what, keywords, shape, judge: judge::random, generic: false }
}

/// Where a rule matched.
pub(crate) struct Hit {
    pub(crate) rule: &'static Rule,
    pub(crate) whole: Range<usize>,
    pub(crate) value: Range<usize>,
}

/// Every match in a view that its rule's judge takes for real.
pub(crate) fn hits(view: &View<'_>) -> Vec<Hit> {
    let bytes = view.bytes.as_ref();
    let scanner = &*SCANNER;
    let dotted = has_dotted_part(bytes);
    let mut awake: Vec<bool> = scanner.always.iter().map(|always| *always && dotted).collect();
    if let Some(words) = &scanner.words {
        for word in words.find_overlapping_iter(bytes) {
            awake[scanner.owner[word.pattern().as_usize()]] = true;
        }
    }
    let awake = awake.iter().zip(&scanner.rules).filter(|(awake, _)| **awake);
    awake.flat_map(|(_, compiled)| compiled.hits(view)).collect()
}

/// A part of six between two dots, without which no rule that has no words can match.
fn has_dotted_part(bytes: &[u8]) -> bool {
    bytes.windows(8).any(|part| part[0] == b'.' && part[7] == b'.')
}

pub(crate) fn is_generic(id: &str) -> bool {
    all().any(|rule| rule.id == id && rule.generic)
}

fn all() -> impl Iterator<Item = &'static Rule> {
    let tables = [cloud::RULES, code::RULES, models::RULES, apps::RULES, general::RULES];
    tables.into_iter().flatten()
}

struct Scanner {
    rules: Vec<Compiled>,
    words: Option<AhoCorasick>,
    /// Of each word, its rule.
    owner: Vec<usize>,
    /// Rules without words.
    always: Vec<bool>,
}

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    let rules: Vec<Compiled> =
        all().map(|rule| Compiled { rule, regex: OnceLock::new() }).collect();
    let words = rules.iter().enumerate().flat_map(|(index, compiled)| {
        compiled.rule.keywords.iter().map(move |word| (index, *word))
    });
    let (owner, words): (Vec<usize>, Vec<&str>) = words.unzip();
    let machine = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words);
    let always = rules.iter().map(|compiled| compiled.rule.keywords.is_empty()).collect();
    // A test builds it too, so that it is never missing.
    Scanner { rules, words: machine.ok(), owner, always }
});

struct Compiled {
    rule: &'static Rule,
    /// Compiled when its words are first seen.
    regex: OnceLock<Option<Regex>>,
}

impl Compiled {
    fn hits(&self, view: &View<'_>) -> Vec<Hit> {
        let bytes = view.bytes.as_ref();
        let mut out = Vec::new();
        let Some(regex) = self.regex.get_or_init(|| compile(self.rule)) else { return out };
        let mut from = 0;
        while let Some(groups) = bytes.get(from..).and_then(|_| regex.captures_at(bytes, from)) {
            let Some(whole) = groups.get(0) else { break };
            let value = groups.get(1).unwrap_or(whole).range();
            let whole = whole.range();
            // Past its first byte only where it was none, since a longer match can hide a true one.
            from = whole.start + 1;
            if view.seen_elsewhere(&whole) {
                from = whole.end.max(from);
            } else if stands_alone(view, &whole)
                && (self.rule.judge)(&Candidate::new(bytes, &whole, &value))
            {
                from = whole.end.max(from);
                out.push(Hit { rule: self.rule, whole, value });
            }
        }
        out
    }
}

/// No letter or digit goes on before or after, unless a line was joined just there. What follows in a folded
/// view says nothing: the next line's first word was glued on.
fn stands_alone(view: &View<'_>, range: &Range<usize>) -> bool {
    let word = |at: Option<usize>| {
        at.and_then(|at| view.bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric)
    };
    let first = view.bytes.get(range.start).is_some_and(u8::is_ascii_alphanumeric);
    let last = word(range.end.checked_sub(1));
    let begins = !first || !word(range.start.checked_sub(1)) || view.is_line_seam(range.start);
    let ends = view.folded || !last || !word(Some(range.end));
    begins && ends
}

fn compile(rule: &Rule) -> Option<Regex> {
    let pattern = match rule.shape {
        Shape::Token(pattern) => pattern.to_owned(),
        Shape::Named { name, value } => format!(
            r#"(?i:{name})[\w\t .\-]{{0,30}}["'`\])]{{0,2}}\s{{0,3}}(?:=>|:=|==?|:|,|\s(?:is|to)\s)\s{{0,3}}["'`]?({value})"#
        ),
    };
    RegexBuilder::new(&pattern).unicode(false).size_limit(MOST_COMPILED).build().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_rule_compiles_and_has_a_name_of_its_own() {
        let mut seen = HashSet::new();
        for rule in all() {
            assert!(compile(rule).is_some(), "{}", rule.id);
            assert!(seen.insert((rule.id, format!("{:?}", rule.shape))), "{} twice", rule.id);
        }
        assert!(SCANNER.words.is_some());
        assert!(all().filter(|rule| !rule.generic).count() >= 35);
    }
}
