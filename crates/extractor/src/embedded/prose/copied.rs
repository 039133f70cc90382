//! Recognizes lines that a person copied: program output, data, and what other people wrote.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{RegexSet, RegexSetBuilder};
use serde::{Deserialize, Deserializer};

use super::super::patterns::{Patterns, with_ascii_boundaries};

/// Parsed at first use. The file is compiled into the program and a test parses it, so this always succeeds.
static SHAPES: LazyLock<CopiedShapes> =
    LazyLock::new(|| toml::from_str(SOURCE).unwrap_or_default());

const SOURCE: &str = include_str!("copied.toml");

/// The content of `copied.toml`, which explains each list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CopiedShapes {
    harness_tags: Beginnings,
    speakers: Beginnings,
    own_labels: Vec<String>,
    output_beginnings: Beginnings,
    log_levels: Beginnings,
    #[serde(deserialize_with = "ignoring_case")]
    output: RegexSet,
    /// In lower case.
    quotation: Patterns,
    #[serde(deserialize_with = "ignoring_case")]
    byline: RegexSet,
    byline_words: Vec<String>,
    #[serde(deserialize_with = "ignoring_case")]
    closing: RegexSet,
}

/// Texts with which a line may begin, by their first byte.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Vec<String>")]
struct Beginnings(BTreeMap<u8, Vec<String>>);

impl From<Vec<String>> for Beginnings {
    fn from(texts: Vec<String>) -> Self {
        let mut all = Self::default();
        for text in texts {
            let first = text.bytes().next().unwrap_or_default();
            all.0.entry(first).or_default().push(text);
        }
        all
    }
}

impl Beginnings {
    /// Returns what follows each beginning that a line has.
    fn rests<'l>(&self, line: &'l str) -> impl Iterator<Item = &'l str> {
        let texts = line.bytes().next().and_then(|first| self.0.get(&first));
        texts.into_iter().flatten().filter_map(|text| line.strip_prefix(text.as_str()))
    }

    fn begin(&self, line: &str) -> bool {
        self.rests(line).next().is_some()
    }
}

/// Maximum size of the cache of a set's automaton states, in bytes. Each line of each message is compared with the
/// sets, and a smaller cache makes that ten times slower.
const CACHE_BYTES: usize = 1 << 20;

/// Compiles patterns that ignore case and use ASCII word boundaries, which is faster.
fn ignoring_case<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RegexSet, D::Error> {
    let texts: Vec<String> = Vec::deserialize(deserializer)?;
    let texts = texts.iter().map(|text| with_ascii_boundaries(text).replace(r"\d", "[0-9]"));
    let set =
        RegexSetBuilder::new(texts).case_insensitive(true).dfa_size_limit(CACHE_BYTES).build();
    set.map_err(serde::de::Error::custom)
}

/// Maximum size of a line that is a header, a label or a byline, in bytes: a longer one is prose or data.
const HEADER_BYTES: usize = 160;
/// Number of bytes at the beginning of a line that are examined to recognize output.
const BEGINNING_BYTES: usize = 200;
/// Maximum size of a speaker's label, in bytes.
const LABEL_BYTES: usize = 40;
/// Maximum number of words in a speaker's label.
const LABEL_WORDS: usize = 3;

/// Lengths of hashes that git prints, in bytes.
const HASH_BYTES: std::ops::RangeInclusive<usize> = 7..=40;

/// Whether a tag is one that agents put around program output. `name` is in lower case.
pub(super) fn is_harness_tag(name: &str) -> bool {
    SHAPES.harness_tags.begin(name)
}

/// Whether a line, without surrounding white space, is output or data.
pub(super) fn is_output(body: &str) -> bool {
    let beginning = &body[..body.floor_char_boundary(BEGINNING_BYTES)];
    SHAPES.output_beginnings.begin(body)
        || SHAPES.log_levels.begin(body.trim_start_matches('['))
        || body.ends_with(['{', ';'])
        || is_commit(body)
        || SHAPES.output.is_match(beginning)
}

/// Whether a line begins with the short hash of a commit, possibly after the graph characters of `git log --graph`.
fn is_commit(body: &str) -> bool {
    let mut words =
        body.split_whitespace().skip_while(|word| matches!(*word, "*" | "|" | "/" | "\\"));
    let hash = words.next().unwrap_or_default();
    HASH_BYTES.contains(&hash.len())
        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        && hash.bytes().any(|byte| byte.is_ascii_digit())
        && hash.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Whether at least a quarter of the characters are symbols: not letters, digits, spaces or common punctuation.
pub(super) fn is_mostly_signs(body: &str) -> bool {
    let signs = body.chars().filter(|c| {
        !c.is_alphanumeric() && !c.is_whitespace() && !".,;:!?'\"’“”()-/`、。，！？".contains(*c)
    });
    signs.count() * 4 >= body.chars().count()
}

/// Whether a line begins a quotation that continues to the end of the message.
pub(super) fn begins_quotation(body: &str) -> bool {
    body.len() <= HEADER_BYTES
        && (is_byline(body) || SHAPES.quotation.match_any(&body.to_lowercase()))
}

/// Whether a line ends a quotation that began before it, such as the closing line of an email.
pub(super) fn closes_quotation(body: &str) -> bool {
    body.len() <= HEADER_BYTES && SHAPES.closing.is_match(body)
}

/// Whether a line has only a name and a time.
fn is_byline(body: &str) -> bool {
    let is_name = |(at, word): (usize, &str)| {
        let word = word.trim_matches(['[', ']', '(', ')', ',', '*']);
        let is_known = || SHAPES.byline_words.iter().any(|known| known.eq_ignore_ascii_case(word));
        at == 0
            || word.starts_with(|c: char| c.is_uppercase() || c.is_numeric())
            || word.is_empty()
            || is_known()
    };
    body.ends_with(|c: char| c.is_ascii_digit() || "mM.)]r".contains(c))
        && body.split_whitespace().enumerate().all(is_name)
        && SHAPES.byline.is_match(body)
}

/// Returns where a pasted conversation begins in a line: at `Human:`, `User:` or `Assistant:`.
pub(super) fn speaker(body: &str) -> Option<usize> {
    let first = body.trim_start_matches(['*', '_', '[', '#', ' ', '`', '(']);
    if names_speaker(first) {
        return Some(0);
    }
    // In the middle of a line, a label must begin with a capital letter: "the user: an account" is prose.
    let colons = body.match_indices([':', '：']);
    let label = |(at, _): (usize, &str)| {
        let near = body.floor_char_boundary(at.saturating_sub(LABEL_BYTES));
        let word = body.get(near..at)?.rsplit(|c: char| !c.is_alphanumeric()).next()?;
        let start = at - word.len();
        let begins_word = body[..start].ends_with([' ', '\t', '*', '_', '[', '.', '"']);
        let label = body.get(start..).filter(|_| begins_word)?;
        (label.starts_with(char::is_uppercase) && names_speaker(label)).then_some(start)
    };
    colons.take(LABEL_BYTES).find_map(label)
}

/// Whether a text begins with a speaker's label: a name, perhaps a number or a time, and a colon.
fn names_speaker(text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(2 * LABEL_BYTES)];
    if !head.contains([':', '：']) {
        return false;
    }
    let is_label = |rest: &str| {
        rest.split_once([':', '：'])
            .is_some_and(|(between, _)| !between.contains(char::is_alphabetic))
    };
    let lower = head.to_lowercase();
    let mut rests = SHAPES.speakers.rests(&lower);
    rests.any(|rest| !rest.starts_with(['\'', '’', '-', '.', '/']) && is_label(rest))
}

/// Whether a line begins with a label, such as `Status: open` or `Bob (Thursday): no`. A person may write one such
/// line; two of them are data or a conversation.
pub(super) fn has_label(body: &str) -> bool {
    let Some(colon) = body.find([':', '：']).filter(|at| *at <= LABEL_BYTES) else { return false };
    let (label, rest) = body.split_at(colon);
    let sign = rest.chars().next().map_or(0, char::len_utf8);
    if !rest[sign..].chars().next().is_none_or(char::is_whitespace) && rest.starts_with(':') {
        return false;
    }
    let label = label.trim_matches(['*', '_', '"', '\'', '[', ']', '`', ' ']);
    let mut words = label.split_whitespace();
    let first = words.next().unwrap_or_default().to_lowercase();
    let is_own = SHAPES.own_labels.contains(&first);
    !first.is_empty() && !is_own && words.count() < LABEL_WORDS
}

#[cfg(test)]
mod tests {
    use super::super::super::patterns::tests::check_list;
    use super::*;

    fn check(is: fn(&str) -> bool, lines: &[&str], expect: bool) {
        for line in lines {
            assert_eq!(is(line), expect, "{line}");
        }
    }

    #[test]
    fn the_shapes_parse() {
        let shapes: CopiedShapes = toml::from_str(SOURCE).unwrap();
        assert_eq!(shapes.speakers.0.len(), SHAPES.speakers.0.len());
        check_list(&shapes.quotation);
    }

    #[test]
    fn a_label_names_a_speaker() {
        let at = |line: &str| speaker(line);
        for line in [
            "Human: a",
            "**User**: a",
            "[user] : a",
            "用户：a",
            "Utilisateur : a",
            "User (10:02): a",
            "bot 2: a",
        ] {
            assert_eq!(at(line), Some(0), "{line}");
        }
        assert_eq!(at("done. Human: always"), Some(6));
        for line in [
            "users: many",
            "the user: one",
            "User-Agent: x",
            "humane: x",
            "use a: b",
            "user's rule: x",
        ] {
            assert_eq!(at(line), None, "{line}");
        }
    }

    #[test]
    fn a_byline_has_only_a_name_and_a_time() {
        check(
            is_byline,
            &["Bob  10:02 AM", "bob — Today at 10:02", "Ann Lee (UTC) 10.02 Uhr", "[10:02]"],
            true,
        );
        check(
            is_byline,
            &["the demo is at 10:02", "remember the standup at 10:30", "use v1.20"],
            false,
        );
    }

    #[test]
    fn prose_is_no_output() {
        check(
            is_output,
            &[
                "Always use tabs.",
                "use a: b",
                "a+b is c",
                "I like npm.",
                "deadline is Friday",
                "最后",
            ],
            false,
        );
        check(
            begins_quotation,
            &["from now on use tabs", "To me it is fine.", "Hi!", "ask Bob"],
            false,
        );
        check(closes_quotation, &["best of all, use tabs", "cheers", "fixes the bug"], false);
    }

    #[test]
    fn a_label_is_short_and_not_the_users() {
        check(has_label, &["Status: open", "bob: no", "Due date: Friday", "规则：用制表符"], true);
        check(
            has_label,
            &[
                "Remember: tabs",
                "http://x.test",
                "I like this one more than: that",
                "a::b",
                "no colon",
            ],
            false,
        );
    }
}
