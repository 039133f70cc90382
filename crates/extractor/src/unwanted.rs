//! Finds the statements that a person removed from learned topics, in the topics' versions. Removed statements must not be
//! learned again.
//!
//! A person removes a statement by deleting its topic, removing its line, or restoring an earlier version.

use std::collections::{BTreeMap, BTreeSet};

use bethink_memdir::header;

use crate::embedded::draft::is_frame;
use crate::same::Meaning;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Extraction,
    /// By hand, with a command, or by restoring a version.
    Person,
    /// Other work of the daemon, which may move statements.
    Other,
}

/// One version of a topic; the last one is the current file.
#[derive(Clone, Debug)]
pub struct Version {
    pub by: By,
    /// `None` if the file was removed.
    pub text: Option<String>,
}

/// Maximum number of statements of a version that are compared with each other. Extractions write a few lines.
const MAX_STATEMENTS: usize = 500;

/// Returns the statements of one topic that extractions wrote and a person removed. Versions are oldest first.
pub fn unwanted(versions: &[Version]) -> Vec<Meaning> {
    let mut learned: BTreeMap<String, Meaning> = BTreeMap::new();
    let mut out: BTreeMap<String, Meaning> = BTreeMap::new();
    let mut before: BTreeSet<String> = BTreeSet::new();
    for version in versions {
        let lines: BTreeSet<String> = version
            .text
            .as_deref()
            .map(statements)
            .into_iter()
            .flatten()
            .take(MAX_STATEMENTS)
            .collect();
        match version.by {
            By::Extraction => {
                let new = lines.difference(&before);
                learned.extend(new.map(|line| (line.clone(), Meaning::of(line))));
            }
            By::Person => {
                let gone = before.difference(&lines);
                let gone = gone.filter_map(|line| Some((line.clone(), learned.get(line)?.clone())));
                out.extend(gone);
            }
            By::Other => {}
        }
        if !out.is_empty() {
            let said: Vec<Meaning> = lines.iter().map(|line| Meaning::of(line)).collect();
            out.retain(|_, meaning| !said.iter().any(|said| meaning.same(said)));
        }
        before = lines;
    }
    out.into_values().filter(|meaning| !meaning.words.is_empty()).collect()
}

/// Returns the statements of a topic: its description, and each line of its body without its
/// Markdown markers (`>`, `-`, `*`, `#`), except lines that only explain a statement.
pub fn statements(text: &str) -> Vec<String> {
    let topic = header::read(text);
    let body = topic.body.lines().map(plain).filter(|line| !line.is_empty() && !is_frame(line));
    let mut lines: Vec<String> = topic.header.description.into_iter().collect();
    lines.extend(body.map(str::to_owned));
    lines
}

fn plain(line: &str) -> &str {
    line.trim().trim_start_matches(['>', '-', '*', '#', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPIC: &str = "---\ndescription: use pnpm for installs\n---\n\n> use pnpm for installs\n\nThe user said so on X.\n";
    const OTHER: &str = "---\ndescription: sign every commit\n---\n\n- sign every commit\n";

    /// Whether installs with pnpm are unwanted after these versions.
    fn check(versions: &[(By, Option<&str>)], expect: bool) {
        let versions: Vec<Version> = versions
            .iter()
            .map(|(by, text)| Version { by: *by, text: text.map(str::to_owned) })
            .collect();
        let found = unwanted(&versions);
        let meaning = Meaning::of("from now on, use pnpm for installs");
        assert_eq!(found.iter().any(|unwanted| unwanted.same(&meaning)), expect, "{versions:?}");
    }

    #[test]
    fn statements_that_a_person_removes_are_unwanted() {
        use By::{Extraction, Other, Person};
        check(&[(Extraction, Some(TOPIC))], false);
        check(&[(Extraction, Some(TOPIC)), (Person, None)], true);
        check(&[(Extraction, Some(TOPIC)), (Person, Some(OTHER))], true);
        check(&[(Person, Some(OTHER)), (Extraction, Some(TOPIC)), (Person, Some(OTHER))], true);
        // The person wrote it again, perhaps in other words.
        check(&[(Extraction, Some(TOPIC)), (Person, None), (Person, Some(TOPIC))], false);
        let reworded = "Installs: always use pnpm for them.\n";
        check(&[(Extraction, Some(TOPIC)), (Person, Some(reworded))], false);
        // A person did not remove it, or no extraction wrote it.
        check(&[(Extraction, Some(TOPIC)), (Other, None)], false);
        check(&[(Extraction, Some(TOPIC)), (Extraction, Some(OTHER))], false);
        check(&[(Person, Some(TOPIC)), (Person, None)], false);
    }

    #[test]
    fn a_topic_says_its_description_and_its_lines() {
        let text =
            "---\ndescription: a\n---\n# T\n\n> b\n\nThe user said so on X. How to apply: y\n- c\n";
        assert_eq!(statements(text), ["a", "T", "b", "c"]);
    }
}
