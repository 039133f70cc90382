//! A request as chat completions want it, made from the blocks of the Messages API.
//!
//! Every message is turned on its own and by fixed rules, and text keeps the bytes of its JSON literal, so
//! that a longer prompt begins with the bytes of a shorter one. What these servers don't know is left out:
//! thinking, which is another provider's, cache markers, and blocks of unknown kinds.

use std::borrow::Cow;

use bethink_model::Request;
use bethink_transcript::json::encode_string;
use bethink_transcript::prompt::{PromptBlock, PromptMessage};
use bethink_transcript::{BlockKind, Message, Origin, Role, Seq};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::trouble::Trouble;

/// Between two texts of one message.
const GAP: &str = r"\n\n";
const DOCUMENT: &str = "[document]";
const IMAGE: &str = "[image]";
/// Stands for a turn of which nothing can be shown, such as one that is all thinking: many of these servers
/// refuse an empty text, and templates of local models a missing turn.
const NOTHING: &str = "(nothing to show)";

/// What could be read of a member; JSON as it stands.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    source: Option<Source<'a>>,
}

#[derive(Deserialize)]
struct Source<'a> {
    #[serde(borrow, default)]
    media_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    url: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Tool<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    description: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input_schema: Option<&'a RawValue>,
}

/// The body; `limit` is what the server calls its limit of output.
pub(super) fn body(request: &Request, limit: &str, streamed: bool) -> Result<Vec<u8>, Trouble> {
    let mut out = String::with_capacity(request.weight() + request.weight() / 4 + 200);
    out.push_str("{\"model\":");
    out.push_str(&encode_string(&request.model));
    push_tools(&mut out, &request.tools)?;
    out.push_str(",\"messages\":[");
    let mut turned = Messages { out: &mut out, first: true };
    turned.system(&request.system)?;
    for message in request.prompt.messages() {
        turned.message(message);
    }
    out.push_str(&format!("],\"{limit}\":{}", request.max_tokens));
    out.push_str(if streamed {
        r#","stream":true,"stream_options":{"include_usage":true}}"#
    } else {
        "}"
    });
    Ok(out.into_bytes())
}

/// One message, which may become several.
pub(super) fn messages(message: Message) -> String {
    let blocks = message.blocks.into_vec().into_iter().map(|block| PromptBlock {
        json: block.json,
        kind: block.kind,
        origin: Origin::Written { after: Seq::ZERO, hash: 0 },
        tokens: 0,
        media: block.media,
        blank: false,
    });
    let message = PromptMessage { role: message.role, blocks: blocks.collect() };
    let mut out = String::new();
    Messages { out: &mut out, first: true }.message(&message);
    out
}

/// Tools that the provider itself would carry out have no schema, and are left out.
fn push_tools(out: &mut String, tools: &[u8]) -> Result<(), Trouble> {
    let tools: Vec<Tool<'_>> = array(tools, "the request's tools")?;
    let mut turned = Vec::with_capacity(tools.len());
    for tool in &tools {
        let (Some(name), Some(schema)) = (tool.name, tool.input_schema) else { continue };
        let description =
            tool.description.map_or_else(String::new, |d| format!(",\"description\":{}", d.get()));
        turned.push(format!(
            r#"{{"type":"function","function":{{"name":{}{description},"parameters":{}}}}}"#,
            name.get(),
            schema.get()
        ));
    }
    if !turned.is_empty() {
        out.push_str(&format!(",\"tools\":[{}]", turned.join(",")));
    }
    Ok(())
}

fn array<'a, T: Deserialize<'a>>(json: &'a [u8], what: &str) -> Result<Vec<T>, Trouble> {
    if json.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    serde_json::from_slice(json).map_err(|e| {
        let what = format!("{what} are no JSON array: {e}");
        Trouble::Found(bethink_model::Class::Invalid, what)
    })
}

struct Messages<'o> {
    out: &'o mut String,
    first: bool,
}

impl Messages<'_> {
    fn system(&mut self, system: &[u8]) -> Result<(), Trouble> {
        let blocks: Vec<Block<'_>> = array(system, "the request's system blocks")?;
        let text = blocks.iter().filter_map(text_of).collect::<Vec<_>>().join(GAP);
        if !text.is_empty() {
            self.push(&format!(r#"{{"role":"system","content":"{text}"}}"#));
        }
        Ok(())
    }

    fn message(&mut self, message: &PromptMessage) {
        match message.role {
            Role::User => self.user(message),
            Role::Assistant => self.assistant(message),
        }
    }

    /// Results come first, each a message of its own, and then what the user said beside them. Images of
    /// results follow there, since a result holds nothing but text.
    fn user(&mut self, message: &PromptMessage) {
        let mut parts = Vec::new();
        let mut results = false;
        for block in &message.blocks {
            let Some(read) = read(block) else { continue };
            match &block.kind {
                BlockKind::ToolResult { tool_use_id, is_error } => {
                    results = true;
                    let text = result(&read, *is_error, &mut parts);
                    let id = encode_string(tool_use_id.as_str());
                    self.push(&format!(
                        r#"{{"role":"tool","tool_call_id":{id},"content":"{text}"}}"#
                    ));
                }
                _ => parts.extend(part(&read)),
            }
        }
        if parts.is_empty() && !results {
            parts.push(Part::Text(NOTHING.to_owned()));
        }
        if !parts.is_empty() {
            let content = content(&parts);
            self.push(&format!(r#"{{"role":"user","content":{content}}}"#));
        }
    }

    fn assistant(&mut self, message: &PromptMessage) {
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
        self.push(&format!(r#"{{"role":"assistant","content":{content}{calls}}}"#));
    }

    fn push(&mut self, message: &str) {
        if !std::mem::replace(&mut self.first, false) {
            self.out.push(',');
        }
        self.out.push_str(message);
    }
}

/// A piece of a user's message.
enum Part {
    /// The inside of a JSON literal.
    Text(String),
    /// The URL of an image.
    Image(String),
}

fn read(block: &PromptBlock) -> Option<Block<'_>> {
    serde_json::from_slice(&block.json).ok()
}

/// The inside of the text's JSON literal.
fn text_of<'a>(block: &Block<'a>) -> Option<&'a str> {
    let text = block.text.filter(|_| block.kind.as_deref() == Some("text"))?;
    inside(text)
}

fn inside(literal: &RawValue) -> Option<&str> {
    literal.get().strip_prefix('"')?.strip_suffix('"')
}

fn part(block: &Block<'_>) -> Option<Part> {
    match block.kind.as_deref() {
        Some("text") => text_of(block).map(|text| Part::Text(text.to_owned())),
        Some("image") => Some(image(block.source.as_ref())),
        Some("document") => Some(Part::Text(DOCUMENT.to_owned())),
        _ => None,
    }
}

fn image(source: Option<&Source<'_>>) -> Part {
    match source {
        Some(Source { media_type: Some(kind), data: Some(data), .. }) => {
            Part::Image(format!("data:{kind};base64,{data}"))
        }
        Some(Source { url: Some(url), .. }) => Part::Image(url.clone().into_owned()),
        _ => Part::Text(IMAGE.to_owned()),
    }
}

/// The inside of the literal of a result's text. These servers have no word for a failure, so the text
/// says it.
fn result(block: &Block<'_>, is_error: bool, beside: &mut Vec<Part>) -> String {
    let mut texts: Vec<String> = Vec::new();
    match block.content {
        Some(content) if content.get().starts_with('"') => {
            texts.extend(inside(content).map(str::to_owned));
        }
        Some(content) => {
            let nested: Vec<Block<'_>> = serde_json::from_str(content.get()).unwrap_or_default();
            for found in nested.iter().filter_map(part) {
                match found {
                    Part::Text(text) => texts.push(text),
                    image @ Part::Image(_) => {
                        texts.push(IMAGE.to_owned());
                        beside.push(image);
                    }
                }
            }
        }
        None => {}
    }
    let text = texts.join(r"\n");
    let told = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if is_error && !told { format!("Error: {text}") } else { text }
}

/// One string where there is nothing but text, since many servers take no parts.
fn content(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Image(_) => None,
        })
        .collect();
    if texts.len() == parts.len() {
        return format!("\"{}\"", texts.join(GAP));
    }
    let parts: Vec<String> = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => format!(r#"{{"type":"text","text":"{text}"}}"#),
            Part::Image(url) => {
                let url = encode_string(url);
                format!(r#"{{"type":"image_url","image_url":{{"url":{url}}}}}"#)
            }
        })
        .collect();
    format!("[{}]", parts.join(","))
}
