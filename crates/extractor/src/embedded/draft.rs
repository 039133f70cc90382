//! A topic of one lesson: the user's own sentence, when it was said, and how to apply it.

use bethink_memdir::header::{self, Change, Header, Unchangeable};
use bethink_memdir::{Name, Source};

use super::plain::plain;
use super::rules::Lesson;
use super::teach::Taught;
use crate::same::says_nothing;

/// By which its topics are known.
pub const STRATEGY: &str = "embedded";
/// Words of a name.
const NAME_WORDS: usize = 6;
/// Characters of a description: a line of the index is reported above 200, its link and title included.
const DESCRIPTION_CHARS: usize = 120;

/// A name for what a sentence says.
pub fn name(sentence: &str) -> Name {
    let plain = plain(sentence);
    let words = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let telling: Vec<&str> =
        words.filter(|word| word.len() > 1 && !says_nothing(word)).take(NAME_WORDS).collect();
    Name::suggest(&if telling.is_empty() { plain.clone() } else { telling.join(" ") })
}

/// A topic of its own.
pub fn topic(taught: &Taught<'_>, name: &Name, source: &Source) -> String {
    let head = Header {
        name: Some(name.as_str().to_owned()),
        description: Some(description(taught.sentence)),
        kind: Some(taught.lesson.kind()),
        modified: Some(source.time.clone()),
        source: Some(source.clone()),
        faults: Vec::new(),
    };
    let day = day(&source.time);
    let said = format!("The user said so on {day}.");
    header::write(
        &head,
        &format!("{}\n\n{said} {}\n", quoted(taught.sentence), apply(taught.lesson)),
    )
}

/// A topic that is there with a newer word on its matter. Nothing of what stands in it goes.
pub fn continued(text: &str, taught: &Taught<'_>, source: &Source) -> Result<String, Unchangeable> {
    let description = description(taught.sentence);
    let mut whole = source.clone();
    if let Some(before) = header::read(text).header.source
        && before.session == source.session
    {
        whole.messages = before.messages;
        whole.messages.extend(source.messages.iter().cloned());
        whole.messages.dedup();
    }
    let changes =
        [Change::Description(&description), Change::Modified(&source.time), Change::Source(&whole)];
    let text = header::with(text, &changes)?;
    let day = day(&source.time);
    let said = format!(
        "The user said so on {day}. Where it differs from what stands above, this is what counts."
    );
    Ok(format!("{}\n\n{}\n\n{said}\n", text.trim_end(), quoted(taught.sentence)))
}

/// One line, no longer than is shown.
pub fn description(sentence: &str) -> String {
    let line = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(DESCRIPTION_CHARS) {
        None => line,
        Some((end, _)) => {
            let head = line.get(..end).unwrap_or_default();
            let head = head.rsplit_once(' ').map_or(head, |(head, _)| head);
            format!("{head} …")
        }
    }
}

fn quoted(sentence: &str) -> String {
    let lines: Vec<String> = sentence.lines().map(|line| format!("> {}", line.trim())).collect();
    lines.join("\n")
}

/// The day of an RFC 3339 time.
fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

/// What follows from a lesson for who reads it later.
fn apply(lesson: Lesson) -> &'static str {
    match lesson {
        Lesson::Standing => {
            "How to apply: hold to it without being asked, until the user says otherwise."
        }
        Lesson::Preference => {
            "How to apply: prefer it wherever there is a choice; what the user asks for in the conversation goes first."
        }
        Lesson::Person => {
            "How to apply: fit explanations and proposals to it; don't bring it up without need."
        }
        Lesson::People => {
            "How to apply: name this person when the matter comes up; whether somebody is asked, the user decides."
        }
        Lesson::Convention => {
            "How to apply: hold to it in new work; where files show otherwise, say so and ask."
        }
        Lesson::Decision => {
            "How to apply: take it as settled; who proposes otherwise says what has changed since."
        }
        Lesson::Constraint => "How to apply: check what is proposed against it first.",
        Lesson::Deadline => {
            "How to apply: plan by it; a day without a date counts from the day it was said. When it is past, ask."
        }
        Lesson::Place => "How to apply: check that it still holds before relying on it.",
        Lesson::Pointer => {
            "How to apply: look there when the matter comes up, and check that it still holds."
        }
        Lesson::Asked => "How to apply: keep it in mind; the user asked for it to be remembered.",
    }
}
