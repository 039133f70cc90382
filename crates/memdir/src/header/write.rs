//! Writes the front matter of a new topic, with its keys in the usual order.

use super::{Header, MOST_QUESTIONS, QUESTION_CHARS, Source, VALUE_CHARS};

/// Returns a topic with this header and body, separated by a blank line.
pub fn write(header: &Header, body: &str) -> String {
    let mut out = String::from("---\n");
    let kind = header.kind.map(|kind| kind.to_string());
    let recall = header.recall.map(|recall| recall.as_str().to_owned());
    let keys = [
        ("name", &header.name),
        ("description", &header.description),
        ("type", &kind),
        ("recall", &recall),
        ("modified", &header.modified),
    ];
    for (key, value) in keys {
        if let Some(value) = value {
            out.push_str(&format!("{key}: {}\n", scalar(value)));
        }
    }
    out.push_str(&question_list(&header.questions, "", "\n"));
    if let Some(source) = &header.source {
        out.push_str(&self::source(source, "", "\n"));
    }
    out.push_str("---\n");
    if !body.is_empty() && !body.starts_with(['\n', '\r']) {
        out.push('\n');
    }
    out.push_str(body);
    out
}

/// Returns the questions that front matter can have: each is one line of limited length, and none occurs twice.
pub fn questions(given: &[String]) -> Vec<String> {
    let mut questions: Vec<String> = Vec::new();
    for question in given {
        let question: String = line(question).chars().take(QUESTION_CHARS).collect();
        let question = question.trim_end().to_owned();
        if !question.is_empty() && !questions.contains(&question) {
            questions.push(question);
        }
    }
    questions.truncate(MOST_QUESTIONS);
    questions
}

/// Returns `questions:` and one line for each question, with this indentation and this line ending; empty if there are no
/// questions.
pub(super) fn question_list(given: &[String], indent: &str, end: &str) -> String {
    let questions = questions(given);
    let items = questions.iter().map(|text| format!("{indent}  - {}{end}", scalar(text)));
    let items: String = items.collect();
    if items.is_empty() { items } else { format!("{indent}questions:{end}{items}") }
}

/// Returns `source:` with its known parts, with this indentation and this line ending.
pub(super) fn source(source: &Source, indent: &str, end: &str) -> String {
    let mut out = format!("{indent}source:{end}");
    let mut put = |key: &str, is_there: bool, value: String| {
        if is_there {
            out.push_str(&format!("{indent}  {key}: {value}{end}"));
        }
    };
    let messages: Vec<String> = source.messages.iter().map(|text| scalar(text)).collect();
    put("session", !source.session.is_empty(), scalar(&source.session));
    put("messages", !messages.is_empty(), format!("[{}]", messages.join(", ")));
    put("strategy", !source.strategy.is_empty(), scalar(&source.strategy));
    put("time", !source.time.is_empty(), scalar(&source.time));
    put("branch", !source.branch.is_empty(), scalar(&source.branch));
    put("commit", !source.commit.is_empty(), scalar(&source.commit));
    out
}

/// Writes text as one line of YAML: plain if every parser reads it as the same text, otherwise quoted.
pub(super) fn scalar(text: &str) -> String {
    let text = line(text);
    if is_plain(&text) { text } else { quoted(&text) }
}

/// Limits a value to what [`read`](super::read) accepts: one line of limited length.
pub(super) fn line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(VALUE_CHARS) {
        Some((end, _)) => text[..end].trim_end().to_owned(),
        None => text,
    }
}

fn is_plain(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_alphanumeric());
    let clash = text.contains(": ") || text.contains(" #") || text.ends_with(':');
    let marks = |c: char| c.is_control() || "[]{},\"\u{feff}".contains(c) || is_odd(c);
    starts && !clash && !text.contains(marks) && !means_something_else(text)
}

/// Whether YAML forbids a character or treats it as a line ending.
fn is_odd(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether a YAML 1.1 or 1.2 parser reads an unquoted word or number as something other than text.
fn means_something_else(text: &str) -> bool {
    const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let bare = text.replace('_', "");
    let based = ["0x", "0o", "0b"].iter().any(|base| bare.starts_with(base));
    // `12:30` is a base-60 number in YAML 1.1.
    let minutes = bare.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '.'));
    let number = (bare.parse::<f64>().is_ok() || based || minutes) && !is_count(text);
    number || WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether the text is a number such as `12`, which may stay unquoted because every parser reads back the same text.
fn is_count(text: &str) -> bool {
    let digits = text.len() < 16 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits && (text == "0" || !text.starts_with('0'))
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            _ if c.is_control() || is_odd(c) || c == '\u{feff}' => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}
