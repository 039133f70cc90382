//! Converts an item of the Responses API to blocks of the Messages API.

use std::borrow::Cow;

use bethink_transcript::json::{decode_string, encode_string, members};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer;

/// The sender of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemSpeaker {
    /// A message with the role `system` or `developer`.
    Instructions,
    User,
    /// The model, or a tool that the provider runs.
    Assistant,
    /// The result of a tool that the client runs.
    ToolResult,
    /// A change of tools or parameters that applies from here on.
    Setting,
}

/// An item of `input` or `output`.
#[derive(Debug)]
pub struct ResponseItem<'a> {
    raw: &'a str,
    kind: Cow<'a, str>,
    parts: ItemMembers<'a>,
}

/// The members of an item that are read.
#[derive(Debug, Deserialize)]
struct ItemMembers<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
    content: Option<&'a RawValue>,
    call_id: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    approval_request_id: Option<&'a RawValue>,
    name: Option<&'a RawValue>,
    arguments: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    action: Option<&'a RawValue>,
    operation: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    execution: Option<Cow<'a, str>>,
}

/// A part of a message's content or of a call's output.
#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    text: Option<&'a RawValue>,
    refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    image_url: Option<Cow<'a, str>>,
    prompt_cache_breakpoint: Option<&'a RawValue>,
}

/// Items that change tools or parameters.
const SETTINGS: [&str; 2] = ["additional_tools", "configuration_update"];
/// Types of calls and results whose block does not contain the whole item: its member `item` contains only what has no
/// equivalent in the block.
pub(super) const PLAIN_CALLS: [&str; 4] =
    ["function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"];
/// Members of these items that have another name in the block, or that do not change what the item means.
const CALL_MEMBERS: [&str; 5] = ["status", "call_id", "name", "arguments", "input"];

impl<'a> ResponseItem<'a> {
    /// Reads an item; `None` if it is not an object, or has an unknown role.
    pub fn read(raw: &'a str) -> Option<Self> {
        let parts: ItemMembers<'a> = serde_json::from_str(raw).ok()?;
        let kind = match (&parts.kind, &parts.role) {
            (Some(kind), _) => kind.clone(),
            (None, Some(_)) => Cow::Borrowed("message"),
            (None, None) => return None,
        };
        let item = Self { raw, kind, parts };
        let has_role = || item.message_speaker().is_some();
        (item.kind != "message" || has_role()).then_some(item)
    }

    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns a message's role.
    pub fn role(&self) -> Option<&str> {
        self.parts.role.as_deref().filter(|_| self.kind == "message")
    }

    pub fn speaker(&self) -> ItemSpeaker {
        if let Some(speaker) = self.message_speaker() {
            return speaker;
        }
        match self.kind() {
            kind if SETTINGS.contains(&kind) => ItemSpeaker::Setting,
            _ if self.is_result() => ItemSpeaker::ToolResult,
            _ => ItemSpeaker::Assistant,
        }
    }

    fn message_speaker(&self) -> Option<ItemSpeaker> {
        match self.role()? {
            "system" | "developer" => Some(ItemSpeaker::Instructions),
            "user" => Some(ItemSpeaker::User),
            "assistant" => Some(ItemSpeaker::Assistant),
            _ => None,
        }
    }

    /// Returns, as JSON, the id that a call and its result have in common; `None` for other items, and for calls that the
    /// provider runs.
    fn join_id(&self) -> Option<&'a str> {
        let (id, is_one) = match self.kind() {
            "mcp_approval_request" => (self.parts.id, true),
            "mcp_approval_response" => (self.parts.approval_request_id, true),
            "tool_search_output" => (self.parts.call_id, true),
            kind => {
                let ends = kind.ends_with("_call") || kind.ends_with("_call_output");
                (self.parts.call_id, ends)
            }
        };
        let by_provider = self.parts.execution.as_deref() == Some("server");
        let id = id.filter(|_| is_one && !by_provider).map(RawValue::get);
        id.filter(|id| id.starts_with('"') && *id != "\"\"")
    }

    fn is_result(&self) -> bool {
        let ends = self.kind.ends_with("_output") || self.kind == "mcp_approval_response";
        ends && self.join_id().is_some()
    }

    /// Returns a message's content as JSON.
    pub fn content(&self) -> Option<&'a str> {
        self.parts.content.map(RawValue::get)
    }

    /// Returns the item as blocks of the Messages API; `None` if it is invalid.
    pub fn blocks(&self) -> Option<Vec<String>> {
        if self.kind == "message" {
            let content = self.parts.content.map_or("null", RawValue::get);
            return match content {
                "null" => Some(Vec::new()),
                text if text.starts_with('"') => Some(text_block(text, None).into_iter().collect()),
                array => content_blocks(array),
            };
        }
        let Some(id) = self.join_id() else { return Some(vec![self.raw.to_owned()]) };
        let block = if self.is_result() { self.result(id)? } else { self.call(id)? };
        Some(vec![block])
    }

    fn call(&self, id: &str) -> Option<String> {
        let name = match self.parts.name.map(RawValue::get) {
            Some(name) if name.starts_with('"') && name != "\"\"" => name.to_owned(),
            _ => encode_string(self.kind.strip_suffix("_call").unwrap_or(&self.kind)),
        };
        let input = match self.kind() {
            "custom_tool_call" => {
                format!(r#"{{"input":{}}}"#, self.parts.input.map_or("\"\"", RawValue::get))
            }
            _ => self.arguments().into_owned(),
        };
        let own = self.own_members()?;
        Some(format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{input}{own}}}"#))
    }

    /// Returns a call's arguments as a JSON object.
    fn arguments(&self) -> Cow<'_, str> {
        let ItemMembers { arguments, action, operation, .. } = &self.parts;
        match arguments.or(*action).or(*operation).map(RawValue::get) {
            None => Cow::Borrowed("{}"),
            Some(text) if text.starts_with('"') => {
                Cow::Owned(answer::input(&decode_string(text)).into_owned())
            }
            Some(object) => Cow::Owned(answer::input(object).into_owned()),
        }
    }

    fn result(&self, id: &str) -> Option<String> {
        let output = self.parts.output.map_or("\"\"", RawValue::get);
        let content = match output {
            text if text.starts_with('"') => text.to_owned(),
            array if is_content(array) => format!("[{}]", content_blocks(array)?.join(",")),
            // Outputs with a structure of their own count as text.
            other => encode_string(other),
        };
        let own = self.own_members()?;
        Some(format!(r#"{{"type":"tool_result","tool_use_id":{id},"content":{content}{own}}}"#))
    }

    /// Returns the `item` member of a call's or a result's block: the item's members that have no equivalent in the block, so
    /// that [`super::items_of_blocks`] can write the item again. It is empty for a plain function call.
    fn own_members(&self) -> Option<String> {
        let is_plain = PLAIN_CALLS.contains(&self.kind());
        let is_own = |name: &str| match name {
            "type" => self.kind != "function_call" && self.kind != "function_call_output",
            "id" => self.kind == "mcp_approval_request",
            "output" => !is_plain && !self.has_text_output(),
            name => !(is_plain && CALL_MEMBERS.contains(&name)),
        };
        let all = members(self.raw)?;
        let own = all.iter().filter(|(name, _)| is_own(name));
        let own: Vec<String> =
            own.map(|(name, value)| format!("{}:{}", encode_string(name), value.get())).collect();
        Some(match own.is_empty() {
            true => String::new(),
            false => format!(",\"item\":{{{}}}", own.join(",")),
        })
    }

    fn has_text_output(&self) -> bool {
        let output = self.parts.output.map_or("\"\"", RawValue::get);
        output.starts_with('"') || is_content(output)
    }
}

/// Returns whether the JSON is an array of content parts.
fn is_content(json: &str) -> bool {
    let parts: Result<Vec<ContentPart<'_>>, _> = serde_json::from_str(json);
    parts.is_ok_and(|parts| !parts.is_empty())
}

/// Returns a message's content as blocks. Parts of unknown kinds keep their bytes.
fn content_blocks(array: &str) -> Option<Vec<String>> {
    let parts: Vec<&RawValue> = serde_json::from_str(array).ok()?;
    let mut blocks = Vec::with_capacity(parts.len());
    for raw in parts {
        let part: ContentPart<'_> = serde_json::from_str(raw.get()).ok()?;
        let mark = part.prompt_cache_breakpoint.map(RawValue::get).filter(|mark| *mark != "null");
        match (&*part.kind, part.text.or(part.refusal), &part.image_url) {
            ("input_text" | "output_text" | "text" | "refusal", Some(text), _) => {
                blocks.extend(text_block(text.get(), mark));
            }
            ("input_image", _, Some(url)) => blocks.push(answer::image_block(url)),
            _ => blocks.push(raw.get().to_owned()),
        }
    }
    Some(blocks)
}

/// Returns the content of a user's message in the format of the Messages API; `None` if it is invalid.
pub fn message_content(item: &ResponseItem<'_>) -> Option<String> {
    match item.parts.content.map(RawValue::get) {
        Some(text) if text.starts_with('"') => Some(text.to_owned()),
        _ => Some(format!("[{}]", item.blocks()?.join(","))),
    }
}

/// Returns `None` for an empty text. The breakpoint keeps its value, under the name that the Messages API has for it.
fn text_block(literal: &str, mark: Option<&str>) -> Option<String> {
    let said = literal.starts_with('"') && literal != "\"\"";
    let mark = mark.map_or_else(String::new, |mark| format!(",\"cache_control\":{mark}"));
    said.then(|| format!(r#"{{"type":"text","text":{literal}{mark}}}"#))
}
