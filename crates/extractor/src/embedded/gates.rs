//! Rejects sentences that have the words of a lesson but teach nothing.

use bethink_memdir::unseen;

use super::plain::QUOTED;
use super::table::TABLE;

/// Maximum length of a sentence, in characters: rules cannot find the lesson of a longer one.
const MAX_CHARS: usize = 400;

/// The reason why a sentence teaches nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum No {
    Question,
    /// The sentence is a thought spoken aloud, a supposition, or a proposal.
    Hedged,
    /// The sentence is about this moment, this change or this file.
    OfTheMoment,
    /// The sentence reports the words of someone or something else.
    Reported,
    /// The sentence contains a secret, which must not be stored.
    Secret,
    TooLong,
    /// The sentence contains invisible characters.
    Hidden,
}

/// Rejects a sentence even if the user asks to remember it. `sentence` is the original, `plain` its normalized form.
pub fn never(sentence: &str, plain: &str) -> Option<No> {
    let scanned = bethink_secrets::ScannedText { name: "", text: sentence };
    let mut words = sentence.split_whitespace();
    let looks_secret =
        TABLE.gates.secret.match_any(plain) || words.any(|word| has_login(word) || is_token(word));
    if looks_secret || !bethink_secrets::scan(&scanned).is_empty() {
        return Some(No::Secret);
    }
    if !unseen::find(sentence).is_empty() {
        return Some(No::Hidden);
    }
    is_too_long(sentence).then_some(No::TooLong)
}

pub fn is_too_long(sentence: &str) -> bool {
    sentence.chars().nth(MAX_CHARS).is_some()
}

/// Rejects a sentence unless the user asks to remember it.
pub fn unless_asked(plain: &str) -> Option<No> {
    if is_question(plain) {
        return Some(No::Question);
    }
    let gates = &TABLE.gates;
    let reasons = [
        (&gates.reported, No::Reported),
        (&gates.hedged, No::Hedged),
        (&gates.of_the_moment, No::OfTheMoment),
    ];
    let found = reasons.into_iter().find(|(patterns, _)| patterns.match_any(plain));
    found.map(|(_, no)| no).or_else(|| plain.starts_with(QUOTED).then_some(No::Reported))
}

/// Whether a sentence is an order about the text after its colon, which is not the user's statement.
pub fn opens_material(plain: &str) -> bool {
    TABLE.gates.material.match_any(plain)
}

/// Whether a sentence is about this moment, this change or this file.
pub fn is_of_the_moment(plain: &str) -> bool {
    TABLE.gates.of_the_moment.match_any(plain)
}

/// Returns the request in a polite question such as "can you always …".
pub fn without_politeness(plain: &str) -> Option<&str> {
    const ASKED: [&str; 4] = ["can you ", "could you ", "would you ", "will you "];
    const STANDING: [&str; 6] =
        ["always ", "never ", "from now on", "not ever ", "stop ", "remember "];
    let rest = ASKED.iter().find_map(|asked| plain.strip_prefix(asked))?;
    let rest = rest.trim_start_matches("please ").trim_start_matches("also ");
    STANDING
        .iter()
        .any(|word| rest.starts_with(word))
        .then(|| rest.trim_end_matches('?').trim_end())
}

pub fn is_question(plain: &str) -> bool {
    let ends = plain.trim_end_matches(|c: char| !c.is_alphanumeric() && !"?？□".contains(c));
    if ends.ends_with(['?', '？']) || plain.contains("? ") {
        return true;
    }
    let mut words = plain.split([' ', ',']);
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match first {
        "do" => second != "not",
        first => TABLE.gates.question_words.iter().any(|word| word == first),
    }
}

/// Phrases that address an agent's instructions rather than its work, in lower case.
const OVERRIDES: [&str; 12] = [
    "previous instructions",
    "prior instructions",
    "above instructions",
    "earlier instructions",
    "your instructions",
    "all instructions",
    "system prompt",
    "system-reminder",
    "system reminder",
    "you are now ",
    "do not tell the user",
    "don't tell the user",
];

/// Whether a sentence attempts to override an agent's instructions.
pub fn overrides_instructions(sentence: &str) -> bool {
    let words = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = words.to_lowercase().replace(['’', '‘'], "'");
    OVERRIDES.iter().any(|phrase| plain.contains(phrase))
}

/// Whether a word is a URL with a password, real or made up.
fn has_login(word: &str) -> bool {
    let place = word.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or(rest));
    place.and_then(|place| place.rsplit_once('@')).is_some_and(|(login, _)| login.contains(':'))
}

/// Whether a word is a long token with letters of both cases and digits. Rejecting a long name does no harm.
fn is_token(word: &str) -> bool {
    const MIN_BYTES: usize = 24;
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let has = |kind: fn(&u8) -> bool| word.as_bytes().iter().any(kind);
    let is_one = word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_+=".contains(&b));
    let is_mixed =
        has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    word.len() >= MIN_BYTES && is_one && is_mixed
}

#[cfg(test)]
mod tests {
    use super::super::plain::plain;
    use super::*;

    fn check(sentence: &str, expect: Option<No>) {
        let plain = plain(sentence);
        assert_eq!(never(sentence, &plain).or_else(|| unless_asked(&plain)), expect, "{sentence}");
    }

    #[test]
    fn questions_guesses_and_the_moment_teach_nothing() {
        check("Do we always use tabs?", Some(No::Question));
        check("can you check the tests", Some(No::Question));
        check("do not push without asking", None);
        check("when you commit, always sign", None);
        check("maybe we always use tabs", Some(No::Hedged));
        check("let's say I prefer tabs", Some(No::Hedged));
        check("I think we always used tabs", Some(No::Hedged));
        check("for now always use tabs", Some(No::OfTheMoment));
        check("never touch this file", Some(No::OfTheMoment));
        check("vielleicht nutzen wir immer tabs", Some(No::Hedged));
        check("the docs say always use tabs", Some(No::Reported));
        check("\"always use tabs\" it is", Some(No::Reported));
    }

    #[test]
    fn secrets_and_invisible_characters_are_never_accepted() {
        check("remember that the password is hunter2", Some(No::Secret));
        check("remember the key ghp_16C7e42F292c6912E7710c838347Ae178B4a", Some(No::Secret));
        check("remember: postgres://ada:x@db/prod", Some(No::Secret));
        check("the password policy changed", None);
        check("always use\u{200B} tabs", Some(No::Hidden));
        check(&"always use tabs ".repeat(40), Some(No::TooLong));
    }

    #[test]
    fn a_polite_request_is_a_request() {
        assert_eq!(without_politeness("can you please always use tabs?"), Some("always use tabs"));
        assert_eq!(without_politeness("can you use tabs?"), None);
    }
}
