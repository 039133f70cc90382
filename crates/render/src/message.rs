//! A stored message: who said what, and which tools were called.

use bethink_api::{HistoryMessage, Role};
use bethink_terminal::words::{ago, bytes, first_line, plural};
use bethink_terminal::{StyledText, TerminalLook, Tone};
use bethink_transcript::typed;
use serde_json::Value;

/// Number of lines that are shown of a longer text.
const BEGINNING: usize = 6;
const INDENT: &str = "    ";

/// How much of a message is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageExtent {
    /// Of a user message, the typed text and the number of lines that the client inserted.
    Beginning,
    /// Like `Beginning`, but without that number. A message that contains only inserted text is left out.
    Handover,
    Whole,
}

pub fn message(
    message: &HistoryMessage,
    extent: MessageExtent,
    look: TerminalLook,
    now: jiff::Timestamp,
) -> Vec<StyledText> {
    let tone = if message.role == Role::User { Tone::Accent } else { Tone::Good };
    let mut lines = vec![
        StyledText::new()
            .strong(format!("#{}", message.seq))
            .plain(" ")
            .put(tone, message.role.as_str())
            .dim(format!("  {}", ago(&message.created_at, now))),
    ];
    let mut body: Value = serde_json::from_str(message.message.get()).unwrap_or_default();
    let inserted = match (message.role, extent) {
        (_, MessageExtent::Whole) => 0,
        (Role::User, _) => body.get_mut("content").map_or(0, take_inserted),
        _ => 0,
    };
    match &body["content"] {
        Value::String(text) => lines.extend(paragraphs(text, extent)),
        Value::Array(blocks) => {
            lines.extend(blocks.iter().flat_map(|block| self::block(block, extent)));
        }
        _ => {}
    }
    match extent {
        MessageExtent::Handover if lines.len() == 1 => return Vec::new(),
        MessageExtent::Beginning if inserted > 0 => {
            let inserted = plural(inserted as u64, "line", "lines");
            lines.push(
                StyledText::new().dim(format!("{INDENT}[+ {inserted} inserted by the client]")),
            );
        }
        _ => {}
    }
    match extent {
        MessageExtent::Beginning | MessageExtent::Handover => {
            lines.into_iter().map(|line| line.fitted(look.width)).collect()
        }
        MessageExtent::Whole if look.live => {
            lines.into_iter().flat_map(|line| line.wrapped(look.width, 0)).collect()
        }
        MessageExtent::Whole => lines,
    }
}

/// Removes what a client inserted into the texts of a user message. Returns the number of removed lines.
fn take_inserted(content: &mut Value) -> usize {
    let is_text = |block: &Value| block["type"] == "text";
    let texts: Vec<&mut Value> = match content {
        Value::Array(blocks) => {
            let blocks = blocks.iter_mut().filter(|block| is_text(block));
            blocks.filter_map(|block| block.get_mut("text")).collect()
        }
        text => vec![text],
    };
    let mut removed = 0;
    for text in texts {
        let Some(whole) = text.as_str() else { continue };
        let words = typed::words(whole);
        removed += whole.trim().lines().count().saturating_sub(words.lines().count());
        *text = Value::String(words);
    }
    removed
}

fn block(block: &Value, extent: MessageExtent) -> Vec<StyledText> {
    let word = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
    match word("type") {
        "text" => paragraphs(word("text"), extent),
        "thinking" => match extent {
            MessageExtent::Beginning | MessageExtent::Handover => {
                let thought = format!("{INDENT}thought: {}", first_line(word("thinking")));
                vec![StyledText::new().dim(thought)]
            }
            MessageExtent::Whole => paragraphs(word("thinking"), extent),
        },
        "tool_use" if extent == MessageExtent::Whole => {
            whole_call(word("name"), block.get("input"))
        }
        "tool_use" => vec![tool_use(word("name"), block.get("input"))],
        "tool_result" => tool_result(block, extent),
        other => vec![StyledText::new().dim(format!("{INDENT}[{other}]"))],
    }
}

/// Shows a tool call with all lines of its arguments.
fn whole_call(name: &str, input: Option<&Value>) -> Vec<StyledText> {
    let Some(Value::Object(input)) = input else { return vec![tool_use(name, input)] };
    let mut lines = vec![tool_use(name, None)];
    for (key, value) in input {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let text = format!("{key}={text}");
        let shown = text.lines().map(|line| format!("{INDENT}  {}", untabbed(line)));
        lines.extend(shown.map(|line| StyledText::new().dim(line)));
    }
    lines
}

fn tool_use(name: &str, input: Option<&Value>) -> StyledText {
    let arguments = match input {
        Some(Value::Object(input)) => {
            let pairs = input.iter().map(|(key, value)| match value {
                Value::String(text) => format!("{key}={}", first_line(text)),
                other => format!("{key}={other}"),
            });
            pairs.collect::<Vec<_>>().join("  ")
        }
        Some(other) => other.to_string(),
        None => String::new(),
    };
    StyledText::from(INDENT).put(Tone::Accent, format!("→ {name}")).dim(format!("  {arguments}"))
}

fn tool_result(block: &Value, extent: MessageExtent) -> Vec<StyledText> {
    let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
    let text = text_of(block.get("content"));
    let (tone, word) = if failed { (Tone::Bad, "✗ failed") } else { (Tone::Good, "←") };
    let lines = plural(text.lines().count() as u64, "line", "lines");
    let size = format!(" {lines}, {}", bytes(text.len() as u64));
    let head = StyledText::from(INDENT).put(tone, word).dim(size);
    match extent {
        MessageExtent::Whole => std::iter::once(head).chain(paragraphs(&text, extent)).collect(),
        MessageExtent::Beginning | MessageExtent::Handover => {
            vec![head.dim(format!("  {}", first_line(&text)))]
        }
    }
}

/// Returns the text of a tool result, whose content is a string or a list of blocks.
fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn paragraphs(text: &str, extent: MessageExtent) -> Vec<StyledText> {
    let lines = text.trim().lines();
    let lines = lines.map(|line| StyledText::from(format!("{INDENT}{}", untabbed(line))));
    let mut out: Vec<StyledText> = lines.collect();
    let more = out.len().saturating_sub(BEGINNING);
    if extent != MessageExtent::Whole && more > 0 {
        out.truncate(BEGINNING);
        let more = plural(more as u64, "more line", "more lines");
        out.push(StyledText::new().dim(format!("{INDENT}… {more}")));
    }
    out
}

/// Replaces tabs, which would be shown as symbols, with spaces.
fn untabbed(line: &str) -> String {
    line.replace('\t', "    ")
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use bethink_terminal::LineMode;

    fn stored(message_json: &str) -> HistoryMessage {
        HistoryMessage {
            seq: 7,
            id: "m".into(),
            role: Role::Assistant,
            created_at: "1970-01-01T00:00:00Z".into(),
            message: RawValue::from_string(message_json.to_owned()).unwrap(),
        }
    }

    fn check(message_json: &str, expect: &str) {
        let stored = stored(message_json);
        let look = TerminalLook::plain(60);
        let lines = message(&stored, MessageExtent::Beginning, look, jiff::Timestamp::UNIX_EPOCH);
        let lines: Vec<String> =
            lines.iter().skip(1).map(|line| line.render(LineMode::One, false)).collect();
        assert_eq!(lines.join("\n"), expect);
    }

    #[test]
    fn whole_messages_are_wrapped_on_a_terminal_only() {
        let stored = stored(r#"{"content":"one two three four five"}"#);
        let shown = |live| {
            let look = TerminalLook { live, ..TerminalLook::plain(22) };
            let lines = message(&stored, MessageExtent::Whole, look, jiff::Timestamp::UNIX_EPOCH);
            let lines = lines.iter().skip(1).map(|line| line.render(LineMode::One, false));
            lines.collect::<Vec<_>>()
        };
        assert_eq!(shown(false), ["    one two three four five"]);
        assert_eq!(shown(true), ["    one two three four", "    five"]);
    }

    #[test]
    fn what_a_client_inserted_is_counted_or_left_out() {
        let shown = |json: &str, extent| {
            let user = HistoryMessage { role: Role::User, ..stored(json) };
            let look = TerminalLook::plain(60);
            let lines = message(&user, extent, look, jiff::Timestamp::UNIX_EPOCH);
            let lines = lines.iter().skip(1).map(|line| line.render(LineMode::One, false));
            lines.collect::<Vec<_>>()
        };
        let reminder = r#"{"type":"text","text":"<system-reminder>\na\nb\n</system-reminder>"}"#;
        let both = format!(
            r#"{{"content":[{reminder},{{"type":"text","text":"Fix it.\n<system-reminder>x</system-reminder>"}}]}}"#
        );
        let counted = ["    Fix it.", "    [+ 5 lines inserted by the client]"];
        assert_eq!(shown(&both, MessageExtent::Beginning), counted);
        assert_eq!(shown(&both, MessageExtent::Handover), ["    Fix it."]);
        assert_eq!(shown(&both, MessageExtent::Whole).len(), 6);
        assert!(shown("5", MessageExtent::Beginning).is_empty());
        let user = HistoryMessage {
            role: Role::User,
            ..stored(&format!(r#"{{"content":[{reminder}]}}"#))
        };
        let look = TerminalLook::plain(60);
        let now = jiff::Timestamp::UNIX_EPOCH;
        assert!(message(&user, MessageExtent::Handover, look, now).is_empty());
    }

    #[test]
    fn each_block_is_shown_as_a_few_lines() {
        check(r#"{"content":"hi\n\tthere"}"#, "    hi\n        there");
        check(
            r#"{"content":"1\n2\n3\n4\n5\n6\n7\n8"}"#,
            "    1\n    2\n    3\n    4\n    5\n    6\n    … 2 more lines",
        );
        check(
            r#"{"content":[{"type":"tool_use","name":"Bash","input":{"command":"ls\nrm x","n":1}}]}"#,
            "    → Bash  command=ls  n=1",
        );
        check(
            r#"{"content":[{"type":"tool_result","is_error":true,"content":[{"type":"text","text":"no\u001b[31m"}]}]}"#,
            "    ✗ failed 1 line, 7 B  no␛[31m",
        );
        check(r#"{"content":[{"type":"novel"}]}"#, "    [novel]");
        check(r#"{"content":5}"#, "");
        check("5", "");
    }
}
