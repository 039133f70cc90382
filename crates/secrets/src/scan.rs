//! Looks for keys and passwords in a name and a text, also where they are disguised.
//!
//! A text is looked at as it stands; with invisible characters taken out and wrapped lines joined; and
//! where a run of it decodes to text, at that text. The last two may be nested.

use std::collections::BTreeSet;
use std::fmt;

use crate::decode;
use crate::rules;
use crate::view::{Seam, View};

/// How often what was decoded is decoded again: a secret of Kubernetes within a value of an archive.
const MOST_NESTED: usize = 2;

/// What is looked at: a topic's name, and its file with the front matter.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

/// How a secret was hidden, if it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// In the topic's name.
    Name,
    /// In plain sight.
    Text,
    /// With characters in it that are not seen.
    Hidden,
    /// Over several lines.
    Wrapped,
    /// In base64, hexadecimal or percent encoding.
    Decoded,
}

/// One secret, without its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// From 1; 0 stands for the name.
    pub line: usize,
    /// Stable, such as `github-token`.
    pub rule: &'static str,
    /// With its article: `a GitHub token`.
    pub what: &'static str,
    pub place: Place,
}

/// Every secret, by line; one for each rule and line.
pub fn scan(text: &Text<'_>) -> Vec<Finding> {
    let mut found = Found::default();
    found.look(&View::plain(text.name), Place::Name, 0);
    found.look(&View::folded(text.name), Place::Name, 0);
    found.look(&View::plain(text.text), Place::Text, 0);
    found.look(&View::folded(text.text), Place::Text, 0);
    found.sorted()
}

#[derive(Default)]
struct Found(BTreeSet<Finding>);

impl Found {
    fn look(&mut self, view: &View<'_>, place: Place, nested: usize) {
        for hit in rules::hits(view) {
            let place = match view.seam(hit.whole.clone()) {
                Some(Seam::Removed) if place == Place::Text => Place::Hidden,
                Some(Seam::Line) if place == Place::Text => Place::Wrapped,
                _ => place,
            };
            if hit.rule.generic && view.lines_joined(hit.value) {
                continue;
            }
            let line = if place == Place::Name { 0 } else { view.line(hit.whole.start) };
            self.0.insert(Finding { line, rule: hit.rule.id, what: hit.rule.what, place });
        }
        if nested == MOST_NESTED {
            return;
        }
        for (at, bytes) in decode::runs(view) {
            let place = if place == Place::Name { place } else { Place::Decoded };
            let inner = View::at_line(&bytes, view.line(at));
            self.look(&inner, place, nested + 1);
        }
    }

    /// A secret that two rules know is told once, by the one that says more; and one that is seen in several
    /// ways, by the plainest.
    fn sorted(self) -> Vec<Finding> {
        let precise: BTreeSet<usize> =
            self.0.iter().filter(|f| !rules::is_generic(f.rule)).map(|f| f.line).collect();
        let mut told: Vec<Finding> = Vec::new();
        for finding in self.0 {
            let vague = rules::is_generic(finding.rule) && precise.contains(&finding.line);
            let again = told.iter().any(|f| f.line == finding.line && f.rule == finding.rule);
            if !vague && !again {
                told.push(finding);
            }
        }
        told
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.place {
            Place::Name | Place::Text => "",
            Place::Hidden => ", with invisible characters in it",
            Place::Wrapped => ", over several lines",
            Place::Decoded => ", encoded",
        };
        match self.line {
            0 => write!(f, "in the name: {} ({}){how}", self.what, self.rule),
            line => write!(f, "line {line}: {} ({}){how}", self.what, self.rule),
        }
    }
}
