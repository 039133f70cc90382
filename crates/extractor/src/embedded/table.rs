//! The words and patterns of `table.toml`, and which of its rules a sentence meets.
//!
//! What no rule knows is left to a person or a model: a memory that is wrong costs more than one that is missing.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bethink_memdir::MemoryKind;
use regex::{RegexSet, RegexSetBuilder};
use serde::Deserialize;

/// What a pattern may keep of the states that it met. The library keeps up to 2 MiB for each pattern and for each of
/// several threads, which for a hundred patterns is more than the daemon has; a sentence meets a few states.
const CACHE_BYTES: usize = 32 << 10;

/// Read at the first question. The file is part of the program and a test reads it too, so that it always parses.
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| read(SOURCE).unwrap_or_default());

const SOURCE: &str = include_str!("table.toml");

/// What each list and pattern is for stands in the file.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Table {
    pub(super) gates: Gates,
    pub(super) wishes: Wishes,
    pub(super) filler_words: Vec<String>,
    pub(super) filler_phrases: Vec<String>,
    pub(super) pasted_beginnings: Vec<String>,
    pub(super) log_levels: Vec<String>,
    apply: BTreeMap<Lesson, String>,
    rules: Vec<TeachRule>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Gates {
    pub(super) secret: Patterns,
    pub(super) reported: Patterns,
    pub(super) hedged: Patterns,
    pub(super) of_the_moment: Patterns,
    pub(super) question_words: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Wishes {
    pub(super) remember: Patterns,
    pub(super) recollection: Patterns,
    pub(super) statement: Patterns,
    pub(super) alone: Patterns,
    pub(super) opens_rules: Patterns,
    pub(super) forget: Patterns,
    pub(super) forget_task: Patterns,
}

/// What makes a sentence a lesson.
#[derive(Debug, Deserialize)]
pub(super) struct TeachRule {
    pub(super) name: String,
    pub(super) lesson: Lesson,
    when: Patterns,
    #[serde(default)]
    but: Patterns,
    #[serde(default = "two")]
    pub(super) least_words: usize,
}

fn two() -> usize {
    2
}

/// Patterns of which one has to match.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub(super) struct Patterns(RegexSet);

impl TryFrom<Vec<String>> for Patterns {
    type Error = regex::Error;

    fn try_from(texts: Vec<String>) -> Result<Self, regex::Error> {
        RegexSetBuilder::new(texts).dfa_size_limit(CACHE_BYTES).build().map(Self)
    }
}

impl Patterns {
    pub(super) fn hold(&self, plain: &str) -> bool {
        self.0.is_match(plain)
    }
}

/// What a memory is for, which decides how it tells to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lesson {
    /// An order that stands.
    Standing,
    Preference,
    Person,
    /// A person other than the user, and what to see them for.
    People,
    Convention,
    Decision,
    Constraint,
    Deadline,
    Place,
    Pointer,
    /// Asked to be remembered, whatever it is.
    Asked,
}

impl Lesson {
    pub fn kind(self) -> MemoryKind {
        match self {
            Lesson::Standing | Lesson::Preference => MemoryKind::Feedback,
            Lesson::Person => MemoryKind::User,
            Lesson::Pointer => MemoryKind::Reference,
            _ => MemoryKind::Project,
        }
    }

    /// How whoever reads the memory later is to use it.
    pub(super) fn apply(self) -> &'static str {
        TABLE.apply.get(&self).map_or("", String::as_str)
    }
}

/// The first rule that holds for a sentence in its plain form.
pub(super) fn rule_for(plain: &str) -> Option<&'static TeachRule> {
    TABLE.rules.iter().find(|rule| rule.when.hold(plain) && !rule.but.hold(plain))
}

fn read(source: &str) -> Result<Table, toml::de::Error> {
    #[derive(Deserialize)]
    struct Parts {
        parts: BTreeMap<String, String>,
    }
    let fill =
        |text: String, (name, part): (&String, &String)| text.replace(&format!("{{{name}}}"), part);
    let Parts { parts } = toml::from_str(source)?;
    toml::from_str(&parts.iter().fold(source.to_owned(), fill))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_rule() {
        let table = read(SOURCE).unwrap();
        assert_eq!(table.rules.len(), SOURCE.matches("\n[[rules]]\n").count());
        assert_eq!(table.apply.len(), Lesson::Asked as usize + 1);
        let mut names: Vec<_> = table.rules.iter().map(|rule| &rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), table.rules.len());
    }
}
