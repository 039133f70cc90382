//! Patterns that are compared with every sentence.
//!
//! Most sentences have none of the words that a pattern's matches contain. All patterns of a list share one search for
//! these words, and a pattern runs only on a sentence that has the words it needs. It is compiled when it runs first.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind, Literal};
use serde::Deserialize;

/// Maximum size of the cache of a pattern's automaton states, in bytes. The library's default of 2 MiB per pattern and
/// thread is too much for a hundred patterns, and below some 100 KiB the largest ones use a slower engine.
const CACHE_BYTES: usize = 256 << 10;

/// Whether it is worth searching for a word: single letters and spaces are in almost every sentence.
fn is_worth_it(word: &str) -> bool {
    word.len() > 1 || word.bytes().all(|byte| byte.is_ascii_punctuation())
}

/// A list of patterns.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub(super) struct Patterns {
    patterns: Vec<Pattern>,
    /// Finds the words that the patterns need.
    words: Option<AhoCorasick>,
    /// For each word, the patterns that may match a sentence because of it.
    by_word: Vec<Vec<usize>>,
    /// The patterns that need no word.
    wordless: Vec<usize>,
}

#[derive(Debug)]
struct Pattern {
    text: String,
    needs: Needs,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn is_match(&self, plain: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| compile(&self.text).ok());
        compiled.as_ref().is_some_and(|pattern| pattern.is_match(plain))
    }
}

pub(super) fn compile(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&with_ascii_boundaries(text)).dfa_size_limit(CACHE_BYTES).build()
}

/// Returns a pattern with ASCII word boundaries: the fast engines do not support others in a text with other letters.
pub(super) fn with_ascii_boundaries(text: &str) -> String {
    text.replace(r"\b", r"(?-u:\b)")
}

/// What each match of a pattern contains.
#[derive(Debug, PartialEq, Eq)]
enum Needs {
    /// Nothing that is searched for.
    Nothing,
    /// The word with this number.
    Word(usize),
    AnyOf(Vec<Needs>),
    AllOf(Vec<Needs>),
}

impl Needs {
    fn of(hir: &Hir, words: &mut Vec<String>) -> Self {
        match hir.kind() {
            HirKind::Literal(Literal(bytes)) => match std::str::from_utf8(bytes) {
                Ok(word) if is_worth_it(word) => {
                    let known = words.iter().position(|known| known == word);
                    Self::Word(known.unwrap_or_else(|| {
                        words.push(word.to_owned());
                        words.len() - 1
                    }))
                }
                _ => Self::Nothing,
            },
            HirKind::Capture(capture) => Self::of(&capture.sub, words),
            HirKind::Repetition(repetition) if repetition.min > 0 => {
                Self::of(&repetition.sub, words)
            }
            HirKind::Concat(parts) => {
                let parts = parts.iter().map(|part| Self::of(part, words));
                let parts: Vec<Self> = parts.filter(|part| *part != Self::Nothing).collect();
                if parts.is_empty() { Self::Nothing } else { Self::AllOf(parts) }
            }
            HirKind::Alternation(parts) => {
                let parts: Vec<Self> = parts.iter().map(|part| Self::of(part, words)).collect();
                if parts.contains(&Self::Nothing) { Self::Nothing } else { Self::AnyOf(parts) }
            }
            _ => Self::Nothing,
        }
    }

    /// Returns the words of which a sentence has at least one if the needs are met: the longest there are. `None` if no
    /// word is needed.
    fn key(&self, words: &[String]) -> Option<BTreeSet<usize>> {
        let shortest = |key: &BTreeSet<usize>| {
            key.iter().filter_map(|&number| words.get(number)).map(String::len).min()
        };
        match self {
            Self::Nothing => None,
            Self::Word(number) => Some(BTreeSet::from([*number])),
            Self::AnyOf(parts) => {
                let keys: Option<Vec<_>> = parts.iter().map(|part| part.key(words)).collect();
                Some(keys?.into_iter().flatten().collect())
            }
            Self::AllOf(parts) => {
                parts.iter().filter_map(|part| part.key(words)).max_by_key(shortest)
            }
        }
    }

    fn are_met(&self, has: &[bool]) -> bool {
        match self {
            Self::Nothing => true,
            Self::Word(number) => has.get(*number).is_some_and(|has| *has),
            Self::AnyOf(parts) => parts.iter().any(|part| part.are_met(has)),
            Self::AllOf(parts) => parts.iter().all(|part| part.are_met(has)),
        }
    }
}

impl TryFrom<Vec<String>> for Patterns {
    type Error = String;

    fn try_from(texts: Vec<String>) -> Result<Self, String> {
        let mut words = Vec::new();
        let mut patterns = Vec::with_capacity(texts.len());
        for text in texts {
            let hir = regex_syntax::parse(&text).map_err(|error| error.to_string())?;
            let needs = Needs::of(&hir, &mut words);
            patterns.push(Pattern { text, needs, compiled: OnceLock::new() });
        }
        let (mut by_word, mut wordless) = (vec![Vec::new(); words.len()], Vec::new());
        for (number, pattern) in patterns.iter().enumerate() {
            let Some(key) = pattern.needs.key(&words) else {
                wordless.push(number);
                continue;
            };
            for word in key {
                by_word[word].push(number);
            }
        }
        let words = AhoCorasick::new(&words).map_err(|error| error.to_string())?;
        Ok(Self { patterns, words: Some(words), by_word, wordless })
    }
}

impl Patterns {
    /// Returns the numbers of the patterns that match a normalized sentence, in order.
    pub(super) fn matching<'p>(&'p self, plain: &'p str) -> impl Iterator<Item = usize> + 'p {
        let mut candidates = self.wordless.clone();
        let mut has = Vec::new();
        for found in self.words.iter().flat_map(|words| words.find_overlapping_iter(plain)) {
            let word = found.pattern().as_usize();
            has.resize(self.by_word.len(), false);
            has[word] = true;
            candidates.extend(&self.by_word[word]);
        }
        candidates.sort_unstable();
        candidates.dedup();
        let matches =
            move |pattern: &Pattern| pattern.needs.are_met(&has) && pattern.is_match(plain);
        candidates
            .into_iter()
            .filter(move |number| self.patterns.get(*number).is_some_and(&matches))
    }

    pub(super) fn match_any(&self, plain: &str) -> bool {
        self.matching(plain).next().is_some()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Checks that each pattern compiles, and that the search for words loses no match. The texts are quotations from this
    /// crate's tests, and random words of the patterns.
    pub(crate) fn check_list(list: &Patterns) {
        let quoted = include_str!("tests.rs").split('"').map(str::to_lowercase);
        let texts = list.patterns.iter().map(|pattern| pattern.text.as_str());
        let words: Vec<&str> = texts
            .flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '\''))
            .filter(|word| !word.is_empty())
            .chain(["a", "other"])
            .collect();
        let mut random = 1_u64;
        let mut next = |most: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(random >> 33).unwrap() % most
        };
        let sentences = (0..500).map(|_| {
            let count = 1 + next(7);
            (0..count).map(|_| words[next(words.len())]).collect::<Vec<_>>().join(" ")
        });
        let compiled = list.patterns.iter().map(|pattern| compile(&pattern.text).unwrap());
        let compiled: Vec<Regex> = compiled.collect();
        for plain in quoted.chain(sentences) {
            let all = compiled.iter().enumerate().filter(|(_, pattern)| pattern.is_match(&plain));
            let expect: Vec<usize> = all.map(|(number, _)| number).collect();
            assert_eq!(list.matching(&plain).collect::<Vec<_>>(), expect, "{plain}");
        }
    }

    fn patterns(texts: &[&str]) -> Patterns {
        Patterns::try_from(texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn the_matching_patterns_are_found() {
        let all = patterns(&[
            r"\b(?:always|never) use\b",
            r"^we (?:are )?(?:ship|release)\w* on \d",
            r"[a-c]+$",
            r"(?:\bno )?colou?r|日本語?",
        ]);
        let check = |plain: &str, expect: &[usize]| {
            assert_eq!(all.matching(plain).collect::<Vec<_>>(), expect, "{plain}");
        };
        check("", &[]);
        check("never use tabs", &[0]);
        check("use never", &[]);
        check("we are shipping on 4", &[1]);
        check("always use the release abc", &[0, 2]);
        check("a color, a colour", &[3]);
        check("日本", &[3]);
    }

    #[test]
    fn a_pattern_without_the_words_it_needs_is_not_compiled() {
        let one = patterns(&[r"\b(?:always|never) (?:use|run)\b"]);
        assert!(!one.match_any("always drink tea") && one.patterns[0].compiled.get().is_none());
        assert!(one.match_any("always run tests") && one.patterns[0].compiled.get().is_some());
    }

    #[test]
    fn a_wrong_pattern_is_an_error() {
        assert!(Patterns::try_from(vec!["(".to_owned()]).is_err());
    }
}
