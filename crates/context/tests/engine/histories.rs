//! Short functions that make histories, and prompts as numbered text.

use std::sync::Arc;

use bethink_context::{Decision, Decisions, Hints, History, HistoryEntry, ViewOptions, view};
use bethink_transcript::message::MessageSource;
use bethink_transcript::{
    Block, Message, MessageId, MessageMeta, PromptMessage, Seq, UnixMicros, ValidPrompt,
};
use bytes::Bytes;
use serde_json::{Value, json};

pub(crate) fn hints() -> Hints {
    Hints { session: "S".to_owned() }
}

pub(crate) fn say(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

pub(crate) fn answer(text: &str) -> Value {
    json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] })
}

/// Returns a call to `tool` with the id `id`, as a chunk of the assistant message `of`.
pub(crate) fn call(of: &str, id: &str, tool: &str, path: &str) -> Value {
    json!({ "role": "assistant", "assistant_message_id": of, "content": [
        { "type": "tool_use", "id": id, "name": tool, "input": { "file_path": path } }
    ] })
}

pub(crate) fn result(id: &str, text: &str) -> Value {
    json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": id, "content": text }
    ] })
}

pub(crate) fn thought(of: &str, text: &str) -> Value {
    json!({ "role": "assistant", "assistant_message_id": of, "content": [
        { "type": "thinking", "thinking": text, "signature": "sig" }
    ] })
}

pub(crate) fn push(history: &mut History, value: &Value) {
    let seq = history.last_seq().next();
    let meta = MessageMeta {
        seq,
        id: MessageId::new(&format!("m{seq}")).unwrap(),
        created_at: UnixMicros(i64::try_from(seq.0).unwrap() * 1_000_000),
    };
    let message =
        Message::parse(meta, Bytes::from(value.to_string()), MessageSource::Client).unwrap();
    history.push(HistoryEntry::new(Arc::new(message)));
}

pub(crate) fn history(messages: &[Value]) -> History {
    let mut history = History::default();
    for message in messages {
        push(&mut history, message);
    }
    history
}

pub(crate) fn apply(decisions: &mut Decisions, history: &History, records: &[Decision]) {
    for record in records {
        decisions.apply(record, history);
    }
}

pub(crate) fn prompt(
    history: &History,
    decisions: &Decisions,
    options: ViewOptions,
) -> ValidPrompt {
    ValidPrompt::check(view(history, decisions, options).messages).unwrap()
}

/// Returns the prompt as a model reads it: one numbered line for each block, with long texts shortened.
pub(crate) fn read(history: &History, decisions: &Decisions) -> String {
    let prompt = prompt(history, decisions, ViewOptions::default());
    prompt.messages().iter().enumerate().map(|(i, m)| line(i, m)).collect()
}

fn line(at: usize, message: &PromptMessage) -> String {
    let blocks: Vec<String> = message
        .blocks
        .iter()
        .map(|shown| {
            let block = Block::shown(shown.json.clone(), shown.kind.clone());
            let value: Value = serde_json::from_slice(&shown.json).unwrap();
            let text: String = block.text().chars().take(60).collect();
            match value["type"].as_str().unwrap() {
                "text" => text,
                "tool_use" => format!(
                    "→{} {}",
                    value["name"].as_str().unwrap(),
                    value["id"].as_str().unwrap()
                ),
                "tool_result" => format!("←{} {text}", value["tool_use_id"].as_str().unwrap()),
                other => format!("<{other}>"),
            }
        })
        .collect();
    format!("{at} {}: {}\n", message.role, blocks.join(" | "))
}

pub(crate) fn seq(n: u64) -> Seq {
    Seq(n)
}
