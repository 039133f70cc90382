//! Converts a request from the blocks of the Messages API to chat completions.
//!
//! Each message is converted separately, and text keeps the bytes of its JSON literal, so that a longer prompt begins
//! with the bytes of a shorter prompt. Thinking, cache breakpoints and blocks of unknown kinds are left out, because
//! these servers do not support them.

use bethink_model::ModelRequest;
use bethink_transcript::json::encode_string;
use bethink_transcript::prompt::{PromptBlock, PromptMessage};
use bethink_transcript::{BlockKind, Message, Origin, Role, Seq};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::block::{ContentBlock, MediaSource};
use crate::trouble::ProviderTrouble;

/// A blank line between two text blocks of a message, already escaped for a JSON string.
const GAP: &str = r"\n\n";
const DOCUMENT: &str = "[document]";
const IMAGE: &str = "[image]";
/// Replaces the content of a message that would otherwise be empty, such as a message with only thinking. Many of these
/// servers reject an empty string, and the templates of local models reject a missing message.
const NOTHING: &str = "(nothing to show)";

#[derive(Deserialize)]
struct ToolDeclaration<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    description: Option<&'a RawValue>,
    input_schema: Option<&'a RawValue>,
    function: Option<&'a RawValue>,
}

/// Returns the body of a request; `limit` is the server's name for the output limit.
pub(super) fn body(
    request: &ModelRequest,
    limit: &str,
    streamed: bool,
) -> Result<Vec<u8>, ProviderTrouble> {
    let mut messages: Vec<String> = system(&request.system)?.into_iter().collect();
    messages.extend(request.prompt.messages().iter().flat_map(chat));
    let stream = match streamed {
        true => r#","stream":true,"stream_options":{"include_usage":true}"#,
        false => "",
    };
    let body = format!(
        r#"{{"model":{}{},"messages":[{}],"{limit}":{}{stream}}}"#,
        encode_string(&request.model),
        tools(&request.tools)?,
        messages.join(","),
        request.max_tokens
    );
    Ok(body.into_bytes())
}

/// Converts one message to one or more messages, joined by commas.
pub(super) fn messages(message: Message) -> String {
    let blocks = message.blocks.into_vec().into_iter().map(|block| PromptBlock {
        json: block.json,
        kind: block.kind,
        origin: Origin::Written { after: Seq::ZERO, hash: 0 },
        tokens: 0,
        media: block.media,
        blank: false,
    });
    chat(&PromptMessage { role: message.role, blocks: blocks.collect() }).join(",")
}

/// Converts tool definitions. Tools that the provider itself runs have no schema and are left out. Tools from a client
/// of chat completions keep their bytes.
fn tools(tools: &[u8]) -> Result<String, ProviderTrouble> {
    let tools: Vec<&RawValue> = array(tools, "the request's tools")?;
    let mut turned = Vec::with_capacity(tools.len());
    for raw in &tools {
        let tool: ToolDeclaration<'_> = serde_json::from_str(raw.get()).map_err(|e| {
            let what = format!("one of the request's tools is not a tool definition: {e}");
            ProviderTrouble::Detected(bethink_model::ErrorClass::Invalid, what)
        })?;
        if tool.function.is_some() {
            turned.push(raw.get().to_owned());
        }
        let (Some(name), Some(schema)) = (tool.name, tool.input_schema) else { continue };
        let description =
            tool.description.map_or_else(String::new, |d| format!(",\"description\":{}", d.get()));
        turned.push(format!(
            r#"{{"type":"function","function":{{"name":{}{description},"parameters":{}}}}}"#,
            name.get(),
            schema.get()
        ));
    }
    Ok(match turned.is_empty() {
        true => String::new(),
        false => format!(",\"tools\":[{}]", turned.join(",")),
    })
}

fn array<'a, T: Deserialize<'a>>(json: &'a [u8], what: &str) -> Result<Vec<T>, ProviderTrouble> {
    if json.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    serde_json::from_slice(json).map_err(|e| {
        let what = format!("{what} are not a JSON array: {e}");
        ProviderTrouble::Detected(bethink_model::ErrorClass::Invalid, what)
    })
}

fn system(system: &[u8]) -> Result<Option<String>, ProviderTrouble> {
    if let Some(text) = literal(system) {
        return Ok((!text.is_empty()).then(|| format!(r#"{{"role":"system","content":"{text}"}}"#)));
    }
    let blocks: Vec<ContentBlock<'_>> = array(system, "the request's system blocks")?;
    let text = blocks.iter().filter_map(text_of).collect::<Vec<_>>().join(GAP);
    Ok((!text.is_empty()).then(|| format!(r#"{{"role":"system","content":"{text}"}}"#)))
}

/// Returns a JSON string literal without its quotes; `None` for anything else.
fn literal(json: &[u8]) -> Option<&str> {
    std::str::from_utf8(json).ok()?.trim().strip_prefix('"')?.strip_suffix('"')
}

fn chat(message: &PromptMessage) -> Vec<String> {
    match message.role {
        Role::User => user(message),
        Role::Assistant => vec![assistant(message)],
    }
}

/// Converts a user message. Each tool result becomes a separate message, followed by a message with the user's own
/// content. Images in results are moved to that message, because a result can contain only text.
fn user(message: &PromptMessage) -> Vec<String> {
    let (mut messages, mut parts) = (Vec::new(), Vec::new());
    for block in &message.blocks {
        let Some(read) = read(block) else { continue };
        match &block.kind {
            BlockKind::ToolResult { tool_use_id, is_error } => {
                let text = result(&read, *is_error, &mut parts);
                let id = encode_string(tool_use_id.as_str());
                messages
                    .push(format!(r#"{{"role":"tool","tool_call_id":{id},"content":"{text}"}}"#));
            }
            _ => parts.extend(part(&read)),
        }
    }
    if parts.is_empty() && messages.is_empty() {
        parts.push(UserPart::Text(NOTHING.to_owned()));
    }
    if !parts.is_empty() {
        messages.push(format!(r#"{{"role":"user","content":{}}}"#, content(&parts)));
    }
    messages
}

fn assistant(message: &PromptMessage) -> String {
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for block in &message.blocks {
        let Some(read) = read(block) else { continue };
        match &block.kind {
            BlockKind::Text => texts.extend(text_of(&read)),
            BlockKind::ToolUse { id, name } => calls.push(format!(
                r#"{{"id":{},"type":"function","function":{{"name":{},"arguments":{}}}}}"#,
                encode_string(id.as_str()),
                encode_string(name),
                encode_string(read.input.map_or("{}", RawValue::get)),
            )),
            _ => {}
        }
    }
    let content = match (texts.is_empty(), calls.is_empty()) {
        (true, true) => format!("\"{NOTHING}\""),
        (true, false) => "null".to_owned(),
        (false, _) => format!("\"{}\"", texts.join(GAP)),
    };
    let calls = match calls.is_empty() {
        true => String::new(),
        false => format!(",\"tool_calls\":[{}]", calls.join(",")),
    };
    format!(r#"{{"role":"assistant","content":{content}{calls}}}"#)
}

/// A piece of a user's message.
enum UserPart {
    /// A text, as a JSON string literal without its quotes.
    Text(String),
    /// The URL of an image.
    Image(String),
}

fn read(block: &PromptBlock) -> Option<ContentBlock<'_>> {
    serde_json::from_slice(&block.json).ok()
}

/// Returns the text's JSON string literal without its quotes.
fn text_of<'a>(block: &ContentBlock<'a>) -> Option<&'a str> {
    let text = block.text.filter(|_| block.kind.as_deref() == Some("text"))?;
    inside(text)
}

fn inside(literal: &RawValue) -> Option<&str> {
    literal.get().strip_prefix('"')?.strip_suffix('"')
}

fn part(block: &ContentBlock<'_>) -> Option<UserPart> {
    match block.kind.as_deref() {
        Some("text") => text_of(block).map(|text| UserPart::Text(text.to_owned())),
        Some("image") => {
            let url = block.source.as_ref().and_then(MediaSource::to_url);
            Some(url.map_or_else(|| UserPart::Text(IMAGE.to_owned()), UserPart::Image))
        }
        Some("document") => Some(UserPart::Text(DOCUMENT.to_owned())),
        _ => None,
    }
}

/// Returns a result's text, as a JSON string literal without its quotes, and moves its images to `beside`. Chat
/// completions have no error flag, so the text of an error begins with `Error:`.
fn result(block: &ContentBlock<'_>, is_error: bool, beside: &mut Vec<UserPart>) -> String {
    let mut texts: Vec<String> = Vec::new();
    match block.content {
        Some(content) if content.get().starts_with('"') => {
            texts.extend(inside(content).map(str::to_owned));
        }
        Some(content) => {
            let nested: Vec<ContentBlock<'_>> =
                serde_json::from_str(content.get()).unwrap_or_default();
            for found in nested.iter().filter_map(part) {
                match found {
                    UserPart::Text(text) => texts.push(text),
                    image @ UserPart::Image(_) => {
                        texts.push(IMAGE.to_owned());
                        beside.push(image);
                    }
                }
            }
        }
        None => {}
    }
    let text = texts.join(r"\n");
    let says_so = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if is_error && !says_so { format!("Error: {text}") } else { text }
}

/// Returns the content as one string if it has only text, because many servers do not accept parts.
fn content(parts: &[UserPart]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            UserPart::Text(text) => Some(text.as_str()),
            UserPart::Image(_) => None,
        })
        .collect();
    if texts.len() == parts.len() {
        return format!("\"{}\"", texts.join(GAP));
    }
    let parts: Vec<String> = parts
        .iter()
        .map(|part| match part {
            UserPart::Text(text) => format!(r#"{{"type":"text","text":"{text}"}}"#),
            UserPart::Image(url) => {
                let url = encode_string(url);
                format!(r#"{{"type":"image_url","image_url":{{"url":{url}}}}}"#)
            }
        })
        .collect();
    format!("[{}]", parts.join(","))
}
