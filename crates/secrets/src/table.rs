//! The table of secrets, `rules.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

/// The table, parsed at first use. The file is compiled in and a test parses it, so this cannot fail.
pub(crate) static TABLE: LazyLock<RuleTable> =
    LazyLock::new(|| toml::from_str(SOURCE).unwrap_or_default());

const SOURCE: &str = include_str!("../rules.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleTable {
    pub(crate) words: WordLists,
    pub(crate) rules: Vec<SecretRule>,
}

/// Lists of words. `rules.toml` explains them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WordLists {
    pub(crate) placeholders: Vec<String>,
    pub(crate) placeholder_parts: Vec<String>,
    pub(crate) placeholder_words: Vec<String>,
    pub(crate) about: Vec<String>,
    pub(crate) references: Vec<String>,
    pub(crate) terms: Vec<String>,
    pub(crate) phrase_words: Vec<String>,
    pub(crate) common_passwords: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SecretRule {
    pub(crate) id: String,
    pub(crate) what: String,
    pub(crate) keywords: Vec<String>,
    #[serde(flatten)]
    pub(crate) shape: RuleShape,
    #[serde(default)]
    pub(crate) judge: Judge,
    #[serde(default)]
    pub(crate) generic: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum RuleShape {
    Token { pattern: String },
    Named { name: String, value: String },
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Judge {
    #[default]
    Token,
    Random,
    /// A UUID that is assigned to a name that stands for a key.
    Uuid,
    InAddress,
    /// A password in a command's argument.
    Password,
    Assigned,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_parses() {
        let table: RuleTable = toml::from_str(SOURCE).unwrap();
        assert_eq!(table.rules.len(), TABLE.rules.len());
        assert!(table.rules.iter().filter(|rule| !rule.generic).count() >= 35);
    }
}
