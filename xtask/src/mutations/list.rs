//! The list of safeguards, `tests/mutations.toml`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

const LIST: &str = "tests/mutations.toml";

/// One safeguard, and the change that removes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mutation {
    pub(super) name: String,
    /// What could happen without the safeguard.
    pub(super) protects: String,
    pub(super) file: String,
    /// Text of the file that occurs exactly once.
    pub(super) find: String,
    pub(super) replace: String,
    pub(super) package: String,
    /// `lib`, or the name of an integration test.
    pub(super) target: String,
    /// A part of the test's name; empty for all tests.
    pub(super) test: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    mutation: Vec<Mutation>,
}

impl Mutation {
    /// Returns the file's text without the safeguard; an error if the text to find does not occur exactly once.
    pub(super) fn applied(&self, text: &str) -> Result<String> {
        let found = text.matches(&self.find).count();
        ensure!(
            found == 1,
            "{}: {} contains this text {found} times, not once: {}",
            self.name,
            self.file,
            self.find
        );
        Ok(text.replacen(&self.find, &self.replace, 1))
    }
}

/// Reads the list, and checks that every entry still fits the source.
pub(super) fn read_list(root: &Path) -> Result<Vec<Mutation>> {
    let text =
        fs::read_to_string(root.join(LIST)).with_context(|| format!("could not read {LIST}"))?;
    let list: List = toml::from_str(&text).with_context(|| format!("could not read {LIST}"))?;
    let mut names = BTreeSet::new();
    for mutation in &list.mutation {
        ensure!(names.insert(&mutation.name), "{LIST} has two entries called {}", mutation.name);
        ensure!(!mutation.protects.is_empty(), "{}: protects is empty", mutation.name);
        ensure!(mutation.find != mutation.replace, "{}: changes nothing", mutation.name);
        let source = fs::read_to_string(root.join(&mutation.file))
            .with_context(|| format!("{}: could not read {}", mutation.name, mutation.file))?;
        mutation.applied(&source)?;
    }
    Ok(list.mutation)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minimum number of safeguards, which the project promises.
    const SAFEGUARDS: usize = 60;

    #[test]
    fn every_mutation_still_fits_the_source() {
        let list = read_list(crate::root()).unwrap();
        assert!(list.len() >= SAFEGUARDS, "{} safeguards", list.len());
    }

    #[test]
    fn a_text_that_is_missing_or_occurs_twice_is_refused() {
        let mutation = Mutation {
            name: "n".into(),
            protects: "p".into(),
            file: "f".into(),
            find: "a".into(),
            replace: "b".into(),
            package: "p".into(),
            target: "lib".into(),
            test: "t".into(),
        };
        assert_eq!(mutation.applied("xax").unwrap(), "xbx");
        assert!(mutation.applied("x").is_err());
        assert!(mutation.applied("aa").is_err());
    }
}
