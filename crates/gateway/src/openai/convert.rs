//! Converts messages of chat completions to the format of the Messages API.
//!
//! The bytes of each JSON string literal are kept. Reasoning is left out both here and when an answer is read, so that an
//! answer and the client's copy of it count as the same message. Unchanged messages are forwarded with their original bytes
//! anyway.

use std::borrow::Cow;
use std::ops::Range;

use bethink_model_http::{image_block, tool_input};
use bethink_transcript::json::decode_string;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::envelope;

#[derive(Deserialize)]
pub(super) struct ChatMessage<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    content: Option<&'a RawValue>,
    refusal: Option<&'a RawValue>,
    tool_calls: Option<Vec<FunctionCall<'a>>>,
    tool_call_id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    text: Option<&'a RawValue>,
    refusal: Option<&'a RawValue>,
    image_url: Option<Image<'a>>,
}

#[derive(Deserialize)]
struct Image<'a> {
    #[serde(borrow)]
    url: Cow<'a, str>,
}

impl<'a> ChatMessage<'a> {
    /// Returns `None` for an unknown role.
    pub(super) fn read(raw: &'a RawValue) -> Option<Self> {
        let said: Self = serde_json::from_str(raw.get()).ok()?;
        let known = ["system", "developer", "user", "assistant", "tool"];
        known.contains(&said.role()).then_some(said)
    }

    pub(super) fn role(&self) -> &str {
        &self.role
    }

    pub(super) fn is_head(&self) -> bool {
        matches!(self.role(), "system" | "developer")
    }

    pub(super) fn text(&self) -> String {
        self.content.map(|content| envelope::text(content.get())).unwrap_or_default()
    }
}

/// Converts messages. Each result states the range of client messages that it was made from. `from` is the index of the
/// first client message. Consecutive tool results become one message.
pub(super) fn converted(
    said: &[ChatMessage<'_>],
    from: usize,
) -> Option<Vec<(Bytes, Range<usize>)>> {
    let mut out = Vec::with_capacity(said.len());
    let mut at = 0;
    while let Some(one) = said.get(at) {
        let (json, taken) = match one.role() {
            "assistant" => (assistant(one)?, 1),
            "tool" => results(said.get(at..)?)?,
            // A later system message stays in its place, as a user message.
            _ => (message("user", &content(one.content)?), 1),
        };
        out.push((Bytes::from(json), from + at..from + at + taken));
        at += taken;
    }
    Some(out)
}

fn message(role: &str, content: &str) -> String {
    format!(r#"{{"role":"{role}","content":{content}}}"#)
}

fn results(said: &[ChatMessage<'_>]) -> Option<(String, usize)> {
    let tools = said.iter().take_while(|said| said.role() == "tool");
    let blocks: Vec<String> = tools.map(result).collect::<Option<_>>()?;
    Some((message("user", &format!("[{}]", blocks.join(","))), blocks.len()))
}

fn result(said: &ChatMessage<'_>) -> Option<String> {
    let id = said.tool_call_id?.get();
    let content = content(said.content)?;
    Some(format!(r#"{{"type":"tool_result","tool_use_id":{id},"content":{content}}}"#))
}

fn assistant(said: &ChatMessage<'_>) -> Option<String> {
    let mut blocks = match said.content.map(RawValue::get) {
        None => Vec::new(),
        Some(literal) if literal.starts_with('"') => text_block(literal).into_iter().collect(),
        Some(array) => parts(array)?,
    };
    let refusal = said.refusal.map(RawValue::get).filter(|raw| raw.starts_with('"'));
    blocks.extend(refusal.and_then(text_block));
    for call in said.tool_calls.iter().flatten() {
        blocks.push(tool_use(call));
    }
    Some(message("assistant", &format!("[{}]", blocks.join(","))))
}

fn tool_use(call: &FunctionCall<'_>) -> String {
    let arguments = match call.function.arguments.map(RawValue::get) {
        None => Cow::Borrowed(""),
        Some(literal) if literal.starts_with('"') => decode_string(literal),
        // Some clients send the object itself.
        Some(object) => Cow::Borrowed(object),
    };
    let (id, name) = (call.id.get(), call.function.name.get());
    let input = tool_input(&arguments);
    format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{input}}}"#)
}

/// Converts the content of a user message or a tool result.
fn content(content: Option<&RawValue>) -> Option<String> {
    match content.map(RawValue::get) {
        None => Some("\"\"".to_owned()),
        Some(literal) if literal.starts_with('"') => Some(literal.to_owned()),
        Some(array) => Some(format!("[{}]", parts(array)?.join(","))),
    }
}

/// Converts content parts to blocks. Parts of unknown kinds stay as they are.
fn parts(array: &str) -> Option<Vec<String>> {
    let parts: Vec<&RawValue> = serde_json::from_str(array).ok()?;
    let mut blocks = Vec::with_capacity(parts.len());
    for raw in parts {
        let part: ContentPart<'_> = serde_json::from_str(raw.get()).ok()?;
        match (&*part.kind, part.text.or(part.refusal), part.image_url) {
            ("text" | "refusal", Some(text), _) => blocks.extend(text_block(text.get())),
            ("image_url", _, Some(image)) => blocks.push(image_block(&image.url)),
            _ => blocks.push(raw.get().to_owned()),
        }
    }
    Some(blocks)
}

/// Returns the text block for a JSON string; `None` if the string is empty.
fn text_block(literal: &str) -> Option<String> {
    let said = literal.starts_with('"') && literal != "\"\"";
    said.then(|| format!(r#"{{"type":"text","text":{literal}}}"#))
}
