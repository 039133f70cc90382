//! The word lists of `words.toml`, and how informative a word is outside any directory.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::weights::{COMMON, HABITUAL, NUMBER};
use crate::stem::stem;

/// The word lists, parsed at first use. The file is compiled in and covered by tests, so this cannot fail.
pub(super) static WORDS: LazyLock<Words> =
    LazyLock::new(|| toml::from_str(include_str!("words.toml")).unwrap_or_default());

/// The word lists. The file explains them.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Words {
    said: String,
    work: String,
    habit: String,
    elsewhere: String,
    pub(super) same: Vec<String>,
    pub(super) alike: Vec<String>,
    pub(super) usage: Vec<String>,
    pub(super) warning: Vec<String>,
    pub(super) opening: Vec<String>,
    pub(super) everyday: Vec<String>,
    pub(super) beside: Vec<String>,
}

/// Returns how informative a word is compared with a specific one: 1 for most words.
pub(crate) fn general_information(term: &str) -> f32 {
    if term.bytes().all(|byte| byte.is_ascii_digit()) {
        return NUMBER;
    }
    let compared = || term.strip_suffix("er").or_else(|| term.strip_suffix("est"));
    let known = TELLING.get(term).or_else(|| TELLING.get(compared()?));
    known.copied().unwrap_or(1.0)
}

static TELLING: LazyLock<HashMap<String, f32>> = LazyLock::new(|| {
    let mut table = HashMap::new();
    let Words { work, habit, elsewhere, said, .. } = &*WORDS;
    for (words, information) in [(work, COMMON), (habit, HABITUAL), (elsewhere, 0.0), (said, 0.0)] {
        table.extend(words.split_whitespace().map(|word| (stem(word).into_owned(), information)));
    }
    table
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_everybody_tells_nothing() {
        for word in ["thank", "pleas", "dank", "merci", "спасибо", "для"] {
            assert_eq!(general_information(word), 0.0, "{word}");
        }
        assert_eq!(general_information("fix"), COMMON);
        assert_eq!(general_information("fog"), 1.0);
    }
}
