//! Finds keys and passwords in a topic's name and text, even if they are disguised.
//!
//! Text is scanned as it is, and again without invisible characters and with wrapped lines joined. Then each run that
//! decodes to text is scanned in the same way.

use std::collections::BTreeSet;
use std::fmt;

use crate::decode;
use crate::rules;
use crate::view::{Seam, SecretView};

/// How many times decoded text is decoded again, for example for a Kubernetes secret in an encoded value.
const MOST_NESTED: usize = 2;

/// The text to scan: a topic's name, and its file with the front matter.
#[derive(Clone, Copy, Debug)]
pub struct ScannedText<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

/// How a secret was hidden, if it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hiding {
    /// The secret is in the topic's name.
    Name,
    /// Not hidden.
    Text,
    /// The value contains invisible characters.
    Hidden,
    /// The value extends over several lines.
    Wrapped,
    /// The value is in base64, hexadecimal or percent encoding.
    Decoded,
}

/// A secret that was found, without its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretFinding {
    /// The line, counted from 1; 0 stands for the topic's name.
    pub line: usize,
    /// The rule's stable name, such as `github-token`.
    pub rule: &'static str,
    /// The kind of secret, with its article: `a GitHub token`.
    pub what: &'static str,
    pub place: Hiding,
}

/// Returns every secret, ordered by line, at most one for each rule and line.
pub fn scan(text: &ScannedText<'_>) -> Vec<SecretFinding> {
    let mut found = FindingSet::default();
    found.look(&SecretView::plain(text.name), Hiding::Name, 0);
    found.look(&SecretView::folded(text.name), Hiding::Name, 0);
    found.look(&SecretView::plain(text.text), Hiding::Text, 0);
    found.look(&SecretView::folded(text.text), Hiding::Text, 0);
    found.sorted()
}

#[derive(Default)]
struct FindingSet(BTreeSet<SecretFinding>);

impl FindingSet {
    fn look(&mut self, view: &SecretView<'_>, place: Hiding, nested: usize) {
        for hit in rules::hits(view) {
            let place = match view.seam(hit.whole.clone()) {
                Some(Seam::Removed) if place == Hiding::Text => Hiding::Hidden,
                Some(Seam::Line) if place == Hiding::Text => Hiding::Wrapped,
                _ => place,
            };
            if hit.rule.generic && view.lines_joined(hit.value) {
                continue;
            }
            let line = if place == Hiding::Name { 0 } else { view.line(hit.whole.start) };
            self.0.insert(SecretFinding { line, rule: &hit.rule.id, what: &hit.rule.what, place });
        }
        if nested == MOST_NESTED {
            return;
        }
        for (at, bytes) in decode::runs(view) {
            let place = if place == Hiding::Name { place } else { Hiding::Decoded };
            let inner = SecretView::at_line(&bytes, view.line(at));
            self.look(&inner, place, nested + 1);
        }
    }

    /// Sorts the findings. A secret that two rules find is reported once, by the more specific rule. If a secret is
    /// found in several ways, only the simplest way is reported.
    fn sorted(self) -> Vec<SecretFinding> {
        let precise: BTreeSet<usize> =
            self.0.iter().filter(|f| !rules::is_generic(f.rule)).map(|f| f.line).collect();
        let mut findings: Vec<SecretFinding> = Vec::new();
        for finding in self.0 {
            let vague = rules::is_generic(finding.rule) && precise.contains(&finding.line);
            let mut of_line = findings.iter().rev().take_while(|f| f.line == finding.line);
            let again = of_line.any(|f| f.rule == finding.rule);
            if !vague && !again {
                findings.push(finding);
            }
        }
        findings
    }
}

impl fmt::Display for SecretFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.place {
            Hiding::Name | Hiding::Text => "",
            Hiding::Hidden => ", with invisible characters in it",
            Hiding::Wrapped => ", split across lines",
            Hiding::Decoded => ", encoded",
        };
        match self.line {
            0 => write!(f, "in the name: {} ({}){how}", self.what, self.rule),
            line => write!(f, "line {line}: {} ({}){how}", self.what, self.rule),
        }
    }
}
