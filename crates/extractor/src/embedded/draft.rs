//! Writes the topic of one lesson: the user's own sentence, when they said it, and how to apply it.

use bethink_memdir::header::{self, Header, HeaderChange, Unchangeable};
use bethink_memdir::{Name, Source};
use bethink_transcript::{UnixMicros, text};

use super::plain::plain;
use super::teach::TaughtSentence;
use crate::same::is_common;

/// The strategy's name in its topics.
pub const STRATEGY: &str = "embedded";
const NAME_WORDS: usize = 6;
/// Maximum length of a description, in characters: lint reports index lines above 200 with link and title.
const DESCRIPTION_CHARS: usize = 120;

pub fn name(sentence: &str) -> Name {
    let plain = plain(sentence);
    let words = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let content: Vec<&str> =
        words.filter(|word| word.len() > 1 && !is_common(word)).take(NAME_WORDS).collect();
    Name::suggest(&if content.is_empty() { plain.clone() } else { content.join(" ") })
}

pub fn topic(taught: &TaughtSentence<'_>, name: &Name, source: &Source) -> String {
    let head = Header {
        name: Some(name.as_str().to_owned()),
        description: Some(description(taught.sentence)),
        kind: Some(taught.lesson.kind()),
        modified: Some(source.time.clone()),
        source: Some(source.clone()),
        faults: Vec::new(),
    };
    let day = day(&source.time);
    let (said, how) = (quoted(taught.sentence), taught.lesson.apply());
    header::write(&head, &format!("{said}\n\nThe user said so on {day}. How to apply: {how}\n"))
}

/// Adds a newer statement to an existing topic. No text of the topic is removed.
pub fn continued(
    text: &str,
    taught: &TaughtSentence<'_>,
    source: &Source,
) -> Result<String, Unchangeable> {
    let description = description(taught.sentence);
    let mut whole = source.clone();
    if let Some(before) = header::read(text).header.source
        && before.session == source.session
    {
        whole.messages = before.messages;
        whole.messages.extend(source.messages.iter().cloned());
        whole.messages.dedup();
    }
    let changes = [
        HeaderChange::Description(&description),
        HeaderChange::Modified(&source.time),
        HeaderChange::Source(&whole),
    ];
    let text = header::with(text, &changes)?;
    let day = day(&source.time);
    let said =
        format!("The user said so on {day}. If it contradicts the text above, follow this one.");
    Ok(format!("{}\n\n{}\n\n{said}\n", text.trim_end(), quoted(taught.sentence)))
}

/// Shortens a sentence to one line.
pub fn description(sentence: &str) -> String {
    text::shorten_at_word(&text::one_line(sentence), DESCRIPTION_CHARS)
}

fn quoted(sentence: &str) -> String {
    let lines: Vec<String> = sentence.lines().map(|line| format!("> {}", line.trim())).collect();
    lines.join("\n")
}

/// Formats a time as RFC 3339.
pub fn time(at: UnixMicros) -> String {
    jiff::Timestamp::from_microsecond(at.0).map_or_else(|_| String::new(), |time| time.to_string())
}

/// Returns the day of an RFC 3339 time.
fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}
