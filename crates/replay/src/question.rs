//! Makes a question from words at the beginning of a session, for a later search.

use std::collections::HashSet;

use bethink_transcript::Role;

use crate::recording::{Recorded, Recording};

/// Number of words in a question. Fewer would match too much, and more would not be realistic.
const WORDS: usize = 4;
/// Range of lengths of useful words, in letters.
const LETTERS: std::ops::RangeInclusive<usize> = 4..=24;
/// Minimum number of words in a message: shorter ones are greetings and commands.
const ENOUGH: usize = 6;

/// Returns the rarest words of the first message from a person, in their original order.
pub fn question(recording: &Recording) -> Option<String> {
    let asked = recording.messages.iter().find_map(|one| {
        let words = words(&prose(one)?);
        (words.len() >= ENOUGH).then_some(words)
    })?;
    let messages: Vec<HashSet<String>> = recording
        .messages
        .iter()
        .map(|one| words(one.content.get()).into_iter().collect())
        .collect();
    let mut seen = HashSet::new();
    let mut rarest: Vec<(usize, &String)> =
        asked.iter().enumerate().filter(|(_, word)| seen.insert(*word)).collect();
    rarest.sort_by_cached_key(|(_, word)| {
        messages.iter().filter(|said| said.contains(*word)).count()
    });
    rarest.truncate(WORDS);
    rarest.sort_unstable();
    let picked: Vec<&str> = rarest.into_iter().map(|(_, word)| word.as_str()).collect();
    Some(picked.join(" "))
}

/// Returns the text that a person wrote in a message. Tool results do not count, and neither does text from programs,
/// which begins with a tag.
pub fn prose(recorded: &Recorded) -> Option<String> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Content {
        Text(String),
        Blocks(Vec<Block>),
    }
    #[derive(serde::Deserialize)]
    struct Block {
        text: Option<String>,
    }
    if recorded.role != Role::User {
        return None;
    }
    let text = match serde_json::from_str(recorded.content.get()).ok()? {
        Content::Text(text) => text,
        Content::Blocks(blocks) => blocks.into_iter().find_map(|block| block.text)?,
    };
    (!text.trim_start().starts_with('<')).then_some(text)
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphabetic())
        .filter(|word| LETTERS.contains(&word.chars().count()))
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn check(said: &[(&str, &str)], expect: Option<&str>) {
        let lines: Vec<String> = said
            .iter()
            .enumerate()
            .map(|(i, (role, content))| {
                format!(
                    r#"{{"type":"{role}","uuid":"u{i}","message":{{"role":"{role}","content":{content}}}}}"#
                )
            })
            .collect();
        let recording = Recording::read(Bytes::from(lines.join("\n")));
        assert_eq!(question(&recording).as_deref(), expect, "{said:?}");
    }

    #[test]
    fn the_rarest_words_of_the_first_thing_said() {
        let asked = r#""Please find why the lease of a harbour job expires when the clock moves""#;
        let answer = r#"[{"type":"text","text":"Please wait: I find why the clock moves a job"}]"#;
        let expect = Some("lease harbour expires when");
        check(&[("user", asked), ("assistant", answer)], expect);
        let greeting = r#""hello""#;
        let meta =
            r#""<command-name>clear</command-name> one more word that nobody ever typed here""#;
        check(
            &[("user", greeting), ("user", meta), ("user", asked), ("assistant", answer)],
            expect,
        );
    }

    #[test]
    fn nothing_said_is_nothing_asked() {
        check(&[], None);
        check(&[("assistant", r#""a long answer without any question that led to it""#)], None);
        let result = r#"[{"type":"tool_result","tool_use_id":"t","content":"some words that a tool has written down"}]"#;
        check(&[("user", result)], None);
    }
}
