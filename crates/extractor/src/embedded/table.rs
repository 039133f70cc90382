//! The words and patterns of `table.toml`, and the search for a rule that matches a sentence.
//!
//! Sentences without a matching rule are left to a person or a model: a wrong memory costs more than a missing one.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use bethink_memdir::MemoryKind;
use regex::Regex;
use serde::Deserialize;

use super::patterns::{Patterns, compile};

/// Parsed at first use. The file is compiled into the program and a test parses it, so this always succeeds.
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| read(SOURCE).unwrap_or_default());

const SOURCE: &str = include_str!("table.toml");

/// The content of `table.toml`, which explains each list and pattern.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Table {
    pub(super) gates: Gates,
    answers: Answers,
    pub(super) wishes: Wishes,
    pub(super) filler_words: HashSet<String>,
    pub(super) filler_phrases: Vec<String>,
    apply: BTreeMap<Lesson, String>,
    rules: Rules,
    pub(super) matters: Vec<MatterPattern>,
}

/// A matter on which only one statement can be right at a time.
#[derive(Debug, Deserialize)]
pub(super) struct MatterPattern {
    pub(super) name: String,
    #[serde(deserialize_with = "pattern")]
    pub(super) when: Regex,
}

fn pattern<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Regex, D::Error> {
    let text = String::deserialize(deserializer)?;
    compile(&text).map_err(serde::de::Error::custom)
}

fn some_pattern<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Regex>, D::Error> {
    pattern(from).map(Some)
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Gates {
    pub(super) secret: Patterns,
    pub(super) reported: Patterns,
    pub(super) material: Patterns,
    pub(super) hedged: Patterns,
    pub(super) of_the_moment: Patterns,
    pub(super) question_words: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Wishes {
    pub(super) remember: Patterns,
    pub(super) recollection: Patterns,
    pub(super) statement: Patterns,
    #[serde(deserialize_with = "some_pattern")]
    pub(super) before: Option<Regex>,
    #[serde(deserialize_with = "some_pattern")]
    pub(super) after: Option<Regex>,
    pub(super) alone: Patterns,
    pub(super) opens_rules: Patterns,
    pub(super) forget: Patterns,
    pub(super) forget_task: Patterns,
}

/// Recognizes statements about the agent's answers.
#[derive(Debug, Default, Deserialize)]
struct Answers {
    when: Patterns,
    but: Patterns,
}

/// A rule that recognizes a lesson in a sentence.
#[derive(Debug, Deserialize)]
pub(super) struct TeachRule {
    pub(super) name: String,
    pub(super) lesson: Lesson,
    /// Patterns, one of which must match; [`Rules`] takes them.
    when: Vec<String>,
    #[serde(default)]
    but: Patterns,
    #[serde(default = "two")]
    pub(super) least_words: usize,
}

fn two() -> usize {
    2
}

/// The rules, with one search for the words of all their patterns.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Vec<TeachRule>")]
struct Rules {
    rules: Vec<TeachRule>,
    when: Patterns,
    /// The number of each pattern's rule.
    owners: Vec<usize>,
}

impl TryFrom<Vec<TeachRule>> for Rules {
    type Error = String;

    fn try_from(mut rules: Vec<TeachRule>) -> Result<Self, String> {
        let (mut owners, mut texts) = (Vec::new(), Vec::new());
        for (number, rule) in rules.iter_mut().enumerate() {
            owners.extend(rule.when.iter().map(|_| number));
            texts.append(&mut rule.when);
        }
        Ok(Self { rules, when: Patterns::try_from(texts)?, owners })
    }
}

/// The kind of lesson, which decides how to apply it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lesson {
    /// A standing order.
    Standing,
    Preference,
    /// How the user likes the agent's answers, in all projects.
    Answers,
    Person,
    /// Another person and their responsibility.
    People,
    Convention,
    Decision,
    Constraint,
    Deadline,
    Place,
    Pointer,
    /// Anything that the user asked to remember.
    Asked,
}

impl Lesson {
    pub fn kind(self) -> MemoryKind {
        match self {
            Lesson::Standing | Lesson::Preference => MemoryKind::Feedback,
            Lesson::Person | Lesson::Answers => MemoryKind::User,
            Lesson::Pointer => MemoryKind::Reference,
            _ => MemoryKind::Project,
        }
    }

    /// Returns the lesson of a normalized sentence that would otherwise teach `self`.
    pub(super) fn of_answers(self, plain: &str) -> Self {
        let Answers { when, but } = &TABLE.answers;
        let is_about_work = matches!(self, Self::Standing | Self::Preference | Self::Asked);
        if is_about_work && when.match_any(plain) && !but.match_any(plain) {
            return Self::Answers;
        }
        self
    }

    /// Returns how later readers should apply the memory.
    pub(super) fn apply(self) -> &'static str {
        TABLE.apply.get(&self).map_or("", String::as_str)
    }
}

/// Returns the first rule that matches a normalized sentence.
pub(super) fn rule_for(plain: &str) -> Option<&'static TeachRule> {
    let Rules { rules, when, owners } = &TABLE.rules;
    let mut matching = when.matching(plain).filter_map(|number| rules.get(*owners.get(number)?));
    matching.find(|rule| !rule.but.match_any(plain))
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
    use super::super::patterns::tests::check_list;
    use super::*;

    #[test]
    fn every_row_is_a_rule() {
        let table = read(SOURCE).unwrap();
        assert_eq!(table.rules.rules.len(), SOURCE.matches("\n[[rules]]\n").count());
        assert_eq!(table.matters.len(), SOURCE.matches("\n[[matters]]\n").count());
        assert_eq!(table.apply.len(), Lesson::Asked as usize + 1);
        let mut names: Vec<_> = table.rules.rules.iter().map(|rule| &rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), table.rules.rules.len());
    }

    #[test]
    fn the_search_for_words_loses_no_match() {
        let Table { gates, wishes, answers, rules, .. } = &*TABLE;
        let Gates { secret, reported, material, hedged, of_the_moment, .. } = gates;
        let Wishes { remember, recollection, statement, alone, opens_rules, .. } = wishes;
        let Wishes { forget, forget_task, .. } = wishes;
        let buts = rules.rules.iter().map(|rule| &rule.but);
        let lists = [
            secret,
            reported,
            material,
            hedged,
            of_the_moment,
            remember,
            recollection,
            statement,
            alone,
            opens_rules,
            forget,
            forget_task,
            &answers.when,
            &answers.but,
            &rules.when,
        ];
        lists.into_iter().chain(buts).for_each(check_list);
    }
}
