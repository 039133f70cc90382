//! Matches the rules of the table. Most rules have keywords without which they cannot match, so one pass over the text
//! finds the few expressions to run. Checksums in keys are ignored: a key with a typo still reveals most of the key.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};

use crate::judge::SecretCandidate;
use crate::table::{RuleShape, SecretRule, TABLE};
use crate::view::SecretView;

/// Maximum size of a compiled expression, in bytes. The largest of our expressions takes a fraction of this.
const MOST_COMPILED: usize = 4 << 20;

pub(crate) struct RuleHit {
    pub(crate) rule: &'static SecretRule,
    pub(crate) whole: Range<usize>,
    pub(crate) value: Range<usize>,
}

/// Returns every match in a view that its rule's judge accepts.
pub(crate) fn hits(view: &SecretView<'_>) -> Vec<RuleHit> {
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

/// Returns whether the text contains two dots with exactly six bytes between them. If not, rules without keywords
/// cannot match.
fn has_dotted_part(bytes: &[u8]) -> bool {
    bytes.windows(8).any(|part| part[0] == b'.' && part[7] == b'.')
}

pub(crate) fn is_generic(id: &str) -> bool {
    TABLE.rules.iter().any(|rule| rule.id == id && rule.generic)
}

struct Scanner {
    rules: Vec<CompiledRule>,
    words: Option<AhoCorasick>,
    /// The index of the rule that each keyword belongs to.
    owner: Vec<usize>,
    /// For each rule, whether it has no keywords, so that it runs whenever the text contains a dotted part.
    always: Vec<bool>,
}

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    let compiled = |rule| CompiledRule { rule, regex: OnceLock::new() };
    let rules: Vec<CompiledRule> = TABLE.rules.iter().map(compiled).collect();
    let words = rules.iter().enumerate().flat_map(|(index, compiled)| {
        compiled.rule.keywords.iter().map(move |word| (index, word.as_str()))
    });
    let (owner, words): (Vec<usize>, Vec<&str>) = words.unzip();
    let machine = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words);
    let always = rules.iter().map(|compiled| compiled.rule.keywords.is_empty()).collect();
    // Building it cannot fail: a test builds the same words.
    Scanner { rules, words: machine.ok(), owner, always }
});

struct CompiledRule {
    rule: &'static SecretRule,
    /// The expression, compiled when the rule runs for the first time.
    regex: OnceLock<Option<Regex>>,
}

impl CompiledRule {
    fn hits(&self, view: &SecretView<'_>) -> Vec<RuleHit> {
        let bytes = view.bytes.as_ref();
        let mut out = Vec::new();
        let Some(regex) = self.regex.get_or_init(|| compile(self.rule)) else { return out };
        let mut from = 0;
        while let Some(whole) = bytes.get(from..).and_then(|_| regex.find_at(bytes, from)) {
            let whole = whole.range();
            let begin = std::mem::replace(&mut from, whole.start + 1);
            // Advance by one byte after a rejected match, because a real one may begin inside it.
            if view.seen_elsewhere(&whole) {
                from = whole.end.max(from);
            } else if stands_alone(view, &whole)
                && self.rule.judge.is_possible(&bytes[whole.clone()])
                && let Some(value) = self.value(regex, bytes, begin, &whole)
            {
                from = whole.end.max(from);
                out.push(RuleHit { rule: self.rule, whole, value });
            }
        }
        out
    }

    /// Returns the value in a match if it is a secret. Capture groups are determined only here, because finding them
    /// takes much longer than finding the match.
    fn value(
        &self,
        regex: &Regex,
        bytes: &[u8],
        from: usize,
        whole: &Range<usize>,
    ) -> Option<Range<usize>> {
        let groups = regex.captures_at(bytes, from)?;
        let value = groups.get(1).or(groups.get(0))?.range();
        SecretCandidate::new(bytes, whole, &value).is_secret(self.rule.judge).then_some(value)
    }
}

/// Returns whether no letter or digit is adjacent to the match. The first word of a joined line does not count,
/// although it follows directly.
fn stands_alone(view: &SecretView<'_>, range: &Range<usize>) -> bool {
    let word = |at: Option<usize>| {
        at.and_then(|at| view.bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric)
    };
    let first = view.bytes.get(range.start).is_some_and(u8::is_ascii_alphanumeric);
    let last = word(range.end.checked_sub(1));
    let begins = !first || !word(range.start.checked_sub(1)) || view.is_line_seam(range.start);
    let ends = view.folded || !last || !word(Some(range.end));
    begins && ends
}

fn compile(rule: &SecretRule) -> Option<Regex> {
    let pattern = match &rule.shape {
        RuleShape::Token { pattern } => pattern.clone(),
        RuleShape::Named { name, value } => format!(
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
        for rule in &TABLE.rules {
            assert!(compile(rule).is_some(), "{}", rule.id);
            assert!(seen.insert((&rule.id, format!("{:?}", rule.shape))), "{} twice", rule.id);
        }
        assert!(SCANNER.words.is_some());
    }
}
