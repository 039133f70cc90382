//! What a colleague sees of a message: its text and its tool calls with their results. Thinking, images and other blocks are left
//! out, and so are secrets.

use std::collections::HashSet;

use bethink_secrets::{ScannedText, redact, scan};
use bethink_transcript::{Block, BlockKind, Message, ToolUseId};
use serde_json::{Map, Value, json};

/// The end of the name of the MCP tool that searches the team's history; clients put the server's name before it.
const SEARCH_TOOL: &str = "search_team";
const OMITTED_RESULTS: &str = "[not shared: results of search_team]";

/// What happens to secrets in shared history (`team.history_secrets`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecretHandling {
    /// Each secret is replaced by a description of its kind.
    Redact,
    /// Nothing of its message is shared.
    Hold,
    /// They are shared.
    Allow,
}

impl SecretHandling {
    pub(crate) fn of(setting: &str) -> Self {
        match setting {
            "hold" => Self::Hold,
            "allow" => Self::Allow,
            _ => Self::Redact,
        }
    }
}

/// Returns a message as JSON, and whether secrets were removed from it.
///
/// The results of the calls in `hidden` are left out.
pub(crate) fn shared_form(
    message: &Message,
    secrets: SecretHandling,
    hidden: &HashSet<ToolUseId>,
) -> (String, bool) {
    let readable = |block| readable(block, hidden);
    let mut content: Vec<Value> = message.blocks.iter().filter_map(readable).collect();
    if content.is_empty() {
        content.push(text_block("[not shared: no text]"));
    }
    let mut content = Value::Array(content);
    let mut is_redacted = false;
    if secrets != SecretHandling::Allow {
        is_redacted = redact_blocks(&mut content);
        // A secret may also be recognized only by what is around it.
        if (secrets == SecretHandling::Hold && is_redacted) || has_secret(&content) {
            is_redacted = true;
            content = json!([text_block("[not shared: contains a secret]")]);
        }
    }
    (json!({ "role": message.role, "content": content }).to_string(), is_redacted)
}

/// Returns the title of a session, as it is shared.
pub(crate) fn redacted_title(title: String, secrets: SecretHandling) -> String {
    match secrets {
        SecretHandling::Allow => title,
        _ => redact(&title).unwrap_or(title),
    }
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Adds the message's calls of `search_team`. Their results are not copied, because they may come from projects with other members.
pub(crate) fn add_hidden_calls(message: &Message, to: &mut HashSet<ToolUseId>) {
    let hidden = message.tool_uses().filter(|(_, name, _)| name.ends_with(SEARCH_TOOL));
    to.extend(hidden.map(|(id, ..)| id.clone()));
}

fn readable(block: &Block, hidden: &HashSet<ToolUseId>) -> Option<Value> {
    match &block.kind {
        BlockKind::Text => Some(text_block(&block.text())),
        BlockKind::ToolUse { id, name } => {
            let read = serde_json::from_str(block.input());
            // Too deep for this parser.
            let input = read.unwrap_or_else(|_| json!({ "input": block.input() }));
            Some(json!({ "type": "tool_use", "id": id.as_str(), "name": name, "input": input }))
        }
        BlockKind::ToolResult { tool_use_id, is_error } => Some(json!({
            "type": "tool_result",
            "tool_use_id": tool_use_id.as_str(),
            "content": if hidden.contains(tool_use_id) { OMITTED_RESULTS.into() } else { block.text() },
            "is_error": is_error,
        })),
        BlockKind::Image => Some(text_block("[not shared: an image]")),
        BlockKind::Document => Some(text_block("[not shared: a document]")),
        BlockKind::Thinking | BlockKind::RedactedThinking | BlockKind::Other(_) => None,
    }
}

/// Redacts all strings of the blocks. Keys such as `text` say nothing about their value, so those strings are scanned without the key.
fn redact_blocks(content: &mut Value) -> bool {
    let blocks = content.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut);
    let members = blocks.flat_map(|block| {
        block.iter_mut().map(|(name, member)| {
            let is_text =
                matches!(name.as_str(), "text" | "content" | "type" | "id" | "tool_use_id");
            redact_value(member, (!is_text).then_some(name.as_str()))
        })
    });
    members.fold(false, |found, one| found | one)
}

/// Redacts all strings of a value, and its member names. A string is read together with its name, because `"password": "…"` is a
/// secret where the string alone is none. Returns whether there was a secret.
fn redact_value(value: &mut Value, name: Option<&str>) -> bool {
    match value {
        Value::String(text) => match redacted_string(text, name) {
            Some(redacted) => {
                *text = redacted;
                true
            }
            None => false,
        },
        Value::Array(items) => {
            let redact = |found, item| redact_value(item, name) | found;
            items.iter_mut().fold(false, redact)
        }
        Value::Object(members) => {
            let mut is_redacted = false;
            let mut kept = Map::new();
            for (name, mut member) in std::mem::take(members) {
                is_redacted |= redact_value(&mut member, Some(&name));
                let redacted_name = redact(&name);
                is_redacted |= redacted_name.is_some();
                kept.insert(redacted_name.unwrap_or(name), member);
            }
            *members = kept;
            is_redacted
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn redacted_string(text: &str, name: Option<&str>) -> Option<String> {
    let alone = redact(text);
    let Some(name) = name else { return alone };
    let text = alone.as_deref().unwrap_or(text);
    let findings = scan(&ScannedText { name: "", text: &named(name, text) });
    match findings.first() {
        Some(finding) => Some(format!("[removed: {}]", finding.what)),
        None => alone,
    }
}

/// Writes a string in one line with its name, as in a settings file.
fn named(name: &str, text: &str) -> String {
    let text: String = text.chars().filter(|c| !"\"\n\r".contains(*c)).collect();
    format!("{name}: \"{text}\"")
}

fn has_secret(content: &Value) -> bool {
    let mut text = String::new();
    write_lines(content, None, &mut text);
    !scan(&ScannedText { name: "", text: &text }).is_empty()
}

/// Writes all strings, each with its name on a line of its own.
fn write_lines(value: &Value, name: Option<&str>, to: &mut String) {
    match value {
        Value::String(text) => {
            match name {
                Some(name) => to.push_str(&named(name, text)),
                None => to.push_str(text),
            }
            to.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| write_lines(item, name, to)),
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| write_lines(member, Some(name), to));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

    use bethink_transcript::message::MessageSource;
    use bethink_transcript::{MessageId, MessageMeta, Seq, UnixMicros};

    use super::*;

    const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

    fn shared(content: &Value, secrets: SecretHandling) -> (Value, bool) {
        let id = MessageId::new("one").unwrap();
        let meta = MessageMeta { seq: Seq(1), id, created_at: UnixMicros(0) };
        let raw = json!({ "role": "assistant", "content": content }).to_string();
        let message = Message::parse(meta, raw.into(), MessageSource::Client).unwrap();
        let (shared, is_redacted) =
            shared_form(&message, secrets, &HashSet::from([ToolUseId::new("hidden").unwrap()]));
        (serde_json::from_str::<Value>(&shared).unwrap()["content"].clone(), is_redacted)
    }

    #[test]
    fn what_a_person_reads_is_shared_and_the_rest_is_not() {
        let call = json!({ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "ls", "deep": [1, null] } });
        let content = json!([
            { "type": "thinking", "thinking": "hmm", "signature": "xyz" },
            { "type": "text", "text": "look", "cache_control": { "type": "ephemeral" } },
            call,
            { "type": "tool_result", "tool_use_id": "hidden", "content": "what ben shares" },
            { "type": "tool_result", "tool_use_id": "t0", "content": [{ "type": "text", "text": "a" }, { "type": "image", "source": {} }] },
        ]);
        let (shared, is_redacted) = shared(&content, SecretHandling::Redact);
        let expect = json!([
            { "type": "text", "text": "look" },
            call,
            { "type": "tool_result", "tool_use_id": "hidden", "content": OMITTED_RESULTS, "is_error": false },
            { "type": "tool_result", "tool_use_id": "t0", "content": "a", "is_error": false },
        ]);
        assert_eq!((shared, is_redacted), (expect, false));
    }

    #[test]
    fn a_message_without_text_is_still_a_message() {
        let thinking = json!([{ "type": "thinking", "thinking": "hmm", "signature": "xyz" }]);
        let (shared, _) = shared(&thinking, SecretHandling::Redact);
        assert_eq!(shared[0]["text"], "[not shared: no text]");
    }

    #[test]
    fn secrets_are_removed_held_or_allowed() {
        let content = json!([
            { "type": "text", "text": format!("the token is {TOKEN}, use it") },
            { "type": "tool_use", "id": "t1", "name": "call", "input": {
                "headers": { "password": "Xk9#m,Q2vL)p7wRt4z", TOKEN: 1 },
                "list": [format!("x {TOKEN}")],
            } },
        ]);
        let (redacted, is_redacted) = shared(&content, SecretHandling::Redact);
        let told = redacted.to_string();
        assert!(
            is_redacted
                && !told.contains("ghp_")
                && !told.contains("Q2vL")
                && !told.contains("p7wRt4z"),
            "{told}"
        );
        assert_eq!(redacted[0]["text"], "the token is [removed: a GitHub token], use it");
        let (held, is_held) = shared(&content, SecretHandling::Hold);
        assert_eq!((held.to_string().contains("use it"), is_held), (false, true), "{held}");
        let (allowed, is_redacted) = shared(&content, SecretHandling::Allow);
        assert_eq!((allowed.to_string().contains(TOKEN), is_redacted), (true, false), "{allowed}");
    }
}
