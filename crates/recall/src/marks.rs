//! Marks are index terms for properties of a message that its text does not state: its speaker, tool, path and day,
//! whether it asks something, and whether it begins a stretch (a run of messages without a long pause).
//!
//! Every mark contains a colon; a term from a text never does.

use bethink_transcript::{BlockKind, Message, Role, UnixMicros, json};

use bethink_days::{Day, day_of, stamped_day};
use bethink_names::words::{LETTER, NameWord, for_each_word};

/// Marks the first message of a stretch, which follows a long pause or begins with a new time stamp.
pub const BEGINS: &str = ":begins";
/// Marks a message that contains a question followed by other text.
pub const ASKS: &str = ":asks";
/// Marks a message that ends with a question, so that the answer is in another message.
pub const ENDS_ASKING: &str = ":ends-asking";
/// Marks a message that states when something happened.
pub const TELLS_WHEN: &str = ":when";

/// Length of a pause that ends a stretch, in microseconds: half an hour, as is usual in web analytics.
const PAUSE_MICROS: i64 = 30 * 60 * 1_000_000;
/// Maximum length of a speaker's name at the start of a message, in bytes and in words.
const SPEAKER_BYTES: usize = 40;
const SPEAKER_WORDS: usize = 3;
/// Maximum number of a path's components that are marked, counted from its end.
const PATH_PARTS: usize = 12;
/// Members of a tool's input that name a file or folder.
const PATH_MEMBERS: [&str; 6] = ["file_path", "path", "notebook_path", "filename", "file", "cwd"];

pub fn by_role(role: Role) -> String {
    format!(":{}", role.as_str())
}

pub fn by_speaker(name: &str) -> String {
    format!(":by:{name}")
}

/// Returns the mark for calls of a tool and for their results.
pub fn by_tool(name: &str) -> String {
    format!(":tool:{}", clean(name))
}

pub fn by_path_part(part: &str) -> String {
    format!(":path:{}", clean(part))
}

pub fn by_day(day: Day) -> String {
    format!(":day:{}", day.0)
}

/// Returns a path's components.
pub fn path_parts(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").take(PATH_PARTS)
}

/// Whether the components of `asked`, such as `crates/store`, occur in `path` one directly after another.
pub fn path_holds(path: &str, asked: &str) -> bool {
    let parts: Vec<String> = path_parts(path).map(clean).collect();
    let asked: Vec<String> = path_parts(asked).map(clean).collect();
    !asked.is_empty() && parts.windows(asked.len()).any(|window| window == asked)
}

pub fn paths_of(message: &Message) -> Vec<String> {
    let mut paths = Vec::new();
    for (_, _, block) in message.tool_uses() {
        for_each_path(block.input(), |path| paths.push(path.to_owned()));
    }
    paths
}

fn for_each_path(input: &str, mut each: impl FnMut(&str)) {
    let Some(members) = json::members(input) else { return };
    for (name, value) in members {
        if PATH_MEMBERS.contains(&name.as_str()) && value.get().starts_with('"') {
            each(&json::decode_string(value.get()));
        }
    }
}

/// Returns a message's marks, separated by spaces. `before` is the previous message: tool results are marked like the
/// calls in it, and the time between the two messages determines whether a stretch begins.
pub fn marks(message: &Message, before: Option<&Message>) -> String {
    let mut marks = vec![by_role(message.role), by_day(day_of(message.created_at))];
    let said = said(message);
    // A copied chat contains its own time stamp; the message's time is when it was copied.
    marks.extend(leading_stamp(&said).and_then(stamped_day).map(by_day));
    if before.is_none_or(|before| begins(message, &said, before)) {
        marks.push(BEGINS.to_owned());
    }
    mark_words(&said, &mut marks);
    mark_tools(message, before, &mut marks);
    marks.sort_unstable();
    marks.dedup();
    marks.join(" ")
}

fn begins(message: &Message, said: &str, before: &Message) -> bool {
    let UnixMicros(now) = message.created_at;
    if now.saturating_sub(before.created_at.0) > PAUSE_MICROS {
        return true;
    }
    let stamp = leading_stamp(said);
    stamp.is_some() && stamp != leading_stamp(&self::said(before))
}

/// Returns all text from a person or the assistant, without thinking.
fn said(message: &Message) -> String {
    let mut said = String::new();
    for block in message.blocks.iter().filter(|block| matches!(block.kind, BlockKind::Text)) {
        said.push_str(&block.text());
        said.push('\n');
    }
    said
}

/// Returns the text in brackets at the start, where copied chats have their time stamp.
fn leading_stamp(said: &str) -> Option<&str> {
    let inside = said.strip_prefix('[')?;
    let end = inside.bytes().take(64).position(|byte| byte == b']')?;
    inside[..end].bytes().any(|byte| byte.is_ascii_digit()).then_some(&inside[..end])
}

fn mark_words(said: &str, marks: &mut Vec<String>) {
    let text = leading_stamp(said).map_or(said, |stamp| &said[stamp.len() + 2..]).trim();
    if let Some(name) = speaker(text) {
        let words = name.split_whitespace().map(str::to_lowercase);
        marks.extend(words.map(|word| by_speaker(&clean(&word))));
    }
    if text.ends_with('?') {
        marks.push(ENDS_ASKING.to_owned());
    } else if text.contains('?') {
        marks.push(ASKS.to_owned());
    }
    if tells_when(text) {
        marks.push(TELLS_WHEN.to_owned());
    }
}

fn speaker(text: &str) -> Option<&str> {
    let end = text.bytes().take(SPEAKER_BYTES + 1).position(|byte| byte == b':')?;
    let name = &text[..end];
    let words = name.split(' ').count();
    let is_name = |word: &str| {
        word.chars().next().is_some_and(char::is_uppercase)
            && word.chars().all(|c| c.is_alphabetic() || matches!(c, '.' | '-' | '\''))
    };
    (words <= SPEAKER_WORDS && name.split(' ').all(is_name)).then_some(name)
}

fn tells_when(text: &str) -> bool {
    let mut tells = false;
    for_each_word(text, |NameWord { range, classes }| {
        tells =
            tells || (classes & LETTER != 0 && bethink_days::is_time_word(&text[range.clone()]));
        tells = tells || is_year(&text[range]);
    });
    tells
}

fn is_year(word: &str) -> bool {
    word.len() == 4
        && (word.starts_with("19") || word.starts_with("20"))
        && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn mark_tools(message: &Message, before: Option<&Message>, marks: &mut Vec<String>) {
    let mut mark_call = |name: &str, input: &str| {
        marks.push(by_tool(name));
        for_each_path(input, |path| marks.extend(path_parts(path).map(by_path_part)));
    };
    for (_, name, block) in message.tool_uses() {
        mark_call(name, block.input());
    }
    for (id, _, _) in message.tool_results() {
        let calls = before.into_iter().flat_map(Message::tool_uses);
        for (_, name, block) in calls.filter(|(call, ..)| *call == id) {
            mark_call(name, block.input());
        }
    }
}

/// Converts text to lower case and replaces white space, which would end the mark.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_whitespace() { '_' } else { c })
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use bethink_transcript::message::MessageSource;
    use bethink_transcript::{MessageId, MessageMeta, Seq};
    use bytes::Bytes;

    use super::*;

    fn message(text: &str) -> Message {
        let meta = MessageMeta {
            seq: Seq(1),
            id: MessageId::new("m1").unwrap(),
            created_at: UnixMicros(0),
        };
        let raw = Bytes::from(format!(r#"{{"role":"user","content":"{text}"}}"#));
        Message::parse(meta, raw, MessageSource::Client).unwrap()
    }

    #[test]
    fn a_copied_chat_has_the_day_that_it_tells() {
        let marks_of = |text: &str| marks(&message(text), None);
        let stamped = marks_of("[9:30 pm on 2 January, 1970] Ann: hello?");
        assert_eq!(stamped, ":begins :by:ann :day:0 :day:1 :ends-asking :user");
        assert_eq!(marks_of("[12 of 40] done"), ":begins :day:0 :user");
    }
}
