//! Converts the contents of a conversation to messages of the Messages API.
//!
//! Calls and their responses get IDs that depend on their position in the conversation. Gemini's own IDs are optional,
//! and clients that make up an ID for a call do so only when they send the call back.

use std::borrow::Cow;

use bethink_transcript::json::{encode_string, members};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer;

/// A content as a message.
#[derive(Debug, PartialEq, Eq)]
pub struct GeminiMessage {
    /// `{role, content}`.
    pub json: String,
    /// The content's parts, as JSON.
    pub parts: Vec<String>,
    /// For each block, the index of its part. Parts without content, and repeated responses, have no block.
    pub blocks: Vec<usize>,
}

/// A content; `parts` may be a single object.
#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
    parts: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContentPart<'a> {
    #[serde(borrow)]
    pub(super) text: Option<&'a RawValue>,
    pub(super) thought: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "thought_signature")]
    pub(super) thought_signature: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "inline_data")]
    inline_data: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "file_data")]
    file_data: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "function_call")]
    function_call: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "function_response")]
    pub(super) function_response: Option<&'a RawValue>,
}

/// `inlineData` or `fileData`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MediaData<'a> {
    #[serde(borrow, default, alias = "mime_type")]
    mime_type: Option<Cow<'a, str>>,
    data: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "file_uri")]
    file_uri: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct FunctionResponse<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    pub(super) response: Option<&'a RawValue>,
    parts: Option<Vec<&'a RawValue>>,
}

/// A call that may get a response.
#[derive(Debug)]
struct OpenCall {
    own_id: Option<String>,
    name: String,
    /// The ID of the call's block.
    id: String,
    is_answered: bool,
}

/// Members that a block has under another name.
const TEXT_MEMBERS: &[&str] = &["text", "thought"];
const THOUGHT_MEMBERS: &[&str] = &["text", "thought", "thoughtSignature", "thought_signature"];
const CALL_MEMBERS: &[&str] = &["functionCall", "function_call"];
const RESPONSE_MEMBERS: &[&str] = &["functionResponse", "function_response"];
const MEDIA_MEMBERS: &[&str] = &["inlineData", "inline_data", "fileData", "file_data"];

/// Converts the contents of a request; `None` if a role or a part is invalid.
pub fn messages_of_contents(contents: &[&str]) -> Option<Vec<GeminiMessage>> {
    let mut reader = ContentReader::default();
    contents.iter().map(|content| reader.message(content)).collect()
}

/// Converts the contents of one conversation, in order.
#[derive(Debug, Default)]
pub(super) struct ContentReader {
    /// Index of the next message.
    next: usize,
    /// The calls of the newest answer, which may be several contents in a row.
    calls: Vec<OpenCall>,
    is_answer: bool,
}

impl ContentReader {
    /// Starts at the message with this index.
    pub(super) fn at(next: usize) -> Self {
        Self { next, ..Self::default() }
    }

    fn message(&mut self, content: &str) -> Option<GeminiMessage> {
        let content: Content<'_> = serde_json::from_str(content).ok()?;
        let is_answer = match content.role.as_deref().unwrap_or("user") {
            "model" => true,
            // Responses of functions once had a role of their own.
            "user" | "function" | "" => false,
            _ => return None,
        };
        let parts: Vec<&RawValue> = match content.parts.map(RawValue::get) {
            None | Some("null") => Vec::new(),
            Some(list) if list.starts_with('[') => serde_json::from_str(list).ok()?,
            Some(_) => content.parts.into_iter().collect(),
        };
        let parts = parts.iter().map(|part| part.get().to_owned()).collect();
        self.message_of(is_answer, parts)
    }

    /// Converts the parts of the next content.
    pub(super) fn message_of(
        &mut self,
        is_answer: bool,
        parts: Vec<String>,
    ) -> Option<GeminiMessage> {
        if is_answer && !self.is_answer {
            self.calls.clear();
        }
        self.is_answer = is_answer;
        let (mut blocks, mut json, mut calls) = (Vec::new(), Vec::new(), 0);
        for (index, raw) in parts.iter().enumerate() {
            let Some(block) = self.block(raw, &mut calls)? else { continue };
            blocks.push(index);
            json.push(block);
        }
        self.next += 1;
        let role = if is_answer { "assistant" } else { "user" };
        let json = format!(r#"{{"role":"{role}","content":[{}]}}"#, json.join(","));
        Some(GeminiMessage { json, parts, blocks })
    }

    /// Returns the block for a part, if it has one. The outer `Option` is `None` if the part is not an object. `calls`
    /// counts the calls in the part's content.
    fn block(&mut self, raw: &str, calls: &mut usize) -> Option<Option<String>> {
        let part: ContentPart<'_> =
            serde_json::from_str(raw).ok().filter(|_| raw.starts_with('{'))?;
        let unknown = || Some(Some(format!(r#"{{"type":"part","part":{raw}}}"#)));
        if let Some(call) = given(part.function_call) {
            let Ok(call) = serde_json::from_str::<FunctionCall<'_>>(call.get()) else {
                return unknown();
            };
            let id = format!("call_{}_{calls}", self.next);
            *calls += 1;
            return Some(self.call(&call, id, raw));
        }
        if let Some(response) = given(part.function_response) {
            return match serde_json::from_str(response.get()) {
                Ok(response) => Some(self.response(&response, raw)),
                Err(_) => unknown(),
            };
        }
        if let Some(data) = given(part.inline_data).or(given(part.file_data)) {
            return media_block(data)
                .map_or_else(unknown, |media| Some(with_rest(media, raw, MEDIA_MEMBERS)));
        }
        let Some(text) = given(part.text).map(RawValue::get).filter(|text| text.starts_with('"'))
        else {
            return unknown();
        };
        let signature = given(part.thought_signature).map(RawValue::get);
        let is_thought = part.thought.is_some_and(|thought| thought.get() == "true");
        let is_empty = text == "\"\"";
        if is_thought || is_empty && signature.is_some() {
            let signature = signature.filter(|signature| signature.starts_with('"'));
            let signature = signature.unwrap_or("\"\"");
            let block =
                format!(r#"{{"type":"thinking","thinking":{text},"signature":{signature}}}"#);
            return Some(with_rest(block, raw, THOUGHT_MEMBERS));
        }
        if is_empty {
            return Some(None);
        }
        Some(with_rest(format!(r#"{{"type":"text","text":{text}}}"#), raw, TEXT_MEMBERS))
    }

    fn call(&mut self, call: &FunctionCall<'_>, id: String, raw: &str) -> Option<String> {
        let input = given(call.args).map_or(Cow::Borrowed("{}"), |args| answer::input(args.get()));
        let name = encode_string(&call.name);
        let block = format!(r#"{{"type":"tool_use","id":"{id}","name":{name},"input":{input}}}"#);
        self.calls.push(OpenCall {
            own_id: call.id.as_deref().map(str::to_owned),
            name: call.name.clone().into_owned(),
            id,
            is_answered: false,
        });
        with_rest(block, raw, CALL_MEMBERS)
    }

    /// Returns the block of a response; `None` if the response is a repetition, which some clients send when they
    /// resume a conversation. A response without a call is not a tool result.
    fn response(&mut self, response: &FunctionResponse<'_>, raw: &str) -> Option<String> {
        let name = response.name.as_deref().unwrap_or_default();
        let own_id = response.id.as_deref().filter(|id| !id.is_empty());
        let by_id = |call: &&mut OpenCall| own_id.is_some() && call.own_id.as_deref() == own_id;
        let named = self.calls.iter_mut().find(by_id);
        let call = match named {
            Some(call) if call.is_answered => return None,
            Some(call) => call,
            None => {
                let fits = |call: &&mut OpenCall| !call.is_answered && call.name == name;
                match self.calls.iter_mut().find(fits) {
                    Some(call) => call,
                    None => return Some(format!(r#"{{"type":"part","part":{raw}}}"#)),
                }
            }
        };
        call.is_answered = true;
        let (content, is_error) = response.content();
        let error = if is_error { ",\"is_error\":true" } else { "" };
        let id = &call.id;
        let block =
            format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":{content}{error}}}"#);
        with_rest(block, raw, RESPONSE_MEMBERS)
    }
}

impl FunctionResponse<'_> {
    /// Returns the name and value of the member that contains the function's output, if the value is text.
    pub(super) fn output_member(&self) -> Option<(&'static str, &str)> {
        let members = members(given(self.response)?.get())?;
        let text = |name: &str| {
            let (_, value) = members.iter().find(|(key, _)| key == name)?;
            value.get().starts_with('"').then(|| value.get())
        };
        // Other members would be lost.
        let is_only = members.len() == 1;
        ["output", "error", "result"]
            .into_iter()
            .find_map(|name| Some((name, text(name).filter(|_| is_only)?)))
    }

    /// Returns a tool result's content as JSON, and whether the result is an error.
    fn content(&self) -> (String, bool) {
        let (text, is_error) = match self.output_member() {
            Some((name, text)) => (text.to_owned(), name == "error"),
            None => (
                given(self.response).map_or("\"\"".to_owned(), |raw| encode_string(raw.get())),
                false,
            ),
        };
        let media: Vec<String> =
            self.parts.iter().flatten().filter_map(|raw| media_of(raw)).collect();
        if media.is_empty() {
            return (text, is_error);
        }
        let blocks: Vec<String> =
            std::iter::once(format!(r#"{{"type":"text","text":{text}}}"#)).chain(media).collect();
        (format!("[{}]", blocks.join(",")), is_error)
    }
}

fn media_of(part: &RawValue) -> Option<String> {
    let part: ContentPart<'_> = serde_json::from_str(part.get()).ok()?;
    media_block(given(part.inline_data).or(given(part.file_data))?)
}

fn media_block(data: &RawValue) -> Option<String> {
    let media: MediaData<'_> = serde_json::from_str(data.get()).ok()?;
    let mime = media.mime_type.unwrap_or_default();
    let kind = if mime.starts_with("image/") { "image" } else { "document" };
    let mime = encode_string(&mime);
    let source = match (media.data, media.file_uri) {
        (Some(data), _) => {
            format!(r#""type":"base64","media_type":{mime},"data":{}"#, data.get())
        }
        (None, Some(uri)) => format!(r#""type":"url","media_type":{mime},"url":{}"#, uri.get()),
        (None, None) => return None,
    };
    Some(format!(r#"{{"type":"{kind}","source":{{{source}}}}}"#))
}

/// Adds the part's other members to the block, as a member `part`. They include the ID that the client gave to a call
/// or a response.
fn with_rest(block: String, raw: &str, known: &[&str]) -> Option<String> {
    let all = members(raw)?;
    let mut rest = Vec::new();
    for (name, value) in &all {
        let is_known = known.contains(&name.as_str());
        if !is_known {
            rest.push(format!("{}:{}", encode_string(name), value.get()));
        } else if known == CALL_MEMBERS || known == RESPONSE_MEMBERS {
            let own = members(value.get())?;
            let id = own.iter().find(|(name, _)| name == "id");
            rest.extend(
                id.map(|(_, id)| format!("{}:{{\"id\":{}}}", encode_string(name), id.get())),
            );
        }
    }
    if rest.is_empty() {
        return Some(block);
    }
    let open = block.strip_suffix('}')?;
    Some(format!("{open},\"part\":{{{}}}}}", rest.join(",")))
}

/// Returns a member that is not `null`.
pub(super) fn given(raw: Option<&RawValue>) -> Option<&RawValue> {
    raw.filter(|raw| raw.get() != "null")
}
