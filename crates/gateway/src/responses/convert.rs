//! Converts items to messages of the Messages API.
//!
//! The items of one answer become one message, and so do consecutive tool results. Instructions and settings in the
//! middle of a conversation become separate messages.

use std::borrow::Cow;
use std::ops::Range;

use bethink_model_http::responses::{ItemSpeaker, ResponseItem, message_content};
use bethink_transcript::json::encode_string;
use bytes::Bytes;

/// A message, and the client's items that it was made from.
#[derive(Debug)]
pub(super) struct ConvertedMessage {
    pub(super) json: Bytes,
    /// Indexes of the items.
    pub(super) items: Range<usize>,
    /// For each block, the index of the item that it is from.
    pub(super) blocks: Vec<usize>,
    /// Indexes of the items that even a shorter prompt contains: instructions and settings.
    pub(super) always: Vec<usize>,
    /// Index of the provider's last compaction, an item that replaces everything before it.
    pub(super) compaction: Option<usize>,
}

/// Returns the item for an element of the input. A string is a user message.
pub(super) fn item_of(raw: &Bytes) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(raw).ok()?;
    Some(match text.starts_with('"') {
        true => Cow::Owned(format!(r#"{{"type":"message","role":"user","content":{text}}}"#)),
        false => Cow::Borrowed(text),
    })
}

/// Converts items; `from` is the index of the first item.
pub(super) fn converted(items: &[ResponseItem<'_>], from: usize) -> Option<Vec<ConvertedMessage>> {
    let joins = |speaker| matches!(speaker, ItemSpeaker::Assistant | ItemSpeaker::ToolResult);
    let runs = items.chunk_by(|a, b| a.speaker() == b.speaker() && joins(a.speaker()));
    let mut at = from;
    runs.map(|run| {
        let message = message(run, at);
        at += run.len();
        message
    })
    .collect()
}

fn message(run: &[ResponseItem<'_>], from: usize) -> Option<ConvertedMessage> {
    let first = run.first()?;
    let speaker = first.speaker();
    let mut message = ConvertedMessage {
        json: Bytes::new(),
        items: from..from + run.len(),
        blocks: Vec::new(),
        always: Vec::new(),
        compaction: None,
    };
    let mut json: Vec<String> = Vec::new();
    for (item, index) in run.iter().zip(from..) {
        let blocks = item.blocks()?;
        message.blocks.extend(blocks.iter().map(|_| index));
        json.extend(blocks);
        match item.kind() {
            "compaction" => message.compaction = Some(index),
            _ if matches!(speaker, ItemSpeaker::Instructions | ItemSpeaker::Setting) => {
                message.always.push(index);
            }
            _ => {}
        }
    }
    let role = match speaker {
        ItemSpeaker::Assistant => "assistant",
        ItemSpeaker::User | ItemSpeaker::ToolResult => "user",
        ItemSpeaker::Instructions => first.role().unwrap_or("developer"),
        ItemSpeaker::Setting => "developer",
    };
    let content = match speaker {
        ItemSpeaker::User | ItemSpeaker::Instructions => message_content(first)?,
        _ => format!("[{}]", json.join(",")),
    };
    if content.starts_with('"') {
        // A string is one block, even if it is empty.
        message.blocks = vec![from];
    }
    let role = encode_string(role);
    message.json = Bytes::from(format!(r#"{{"role":{role},"content":{content}}}"#));
    Some(message)
}
