//! A request to Gemini's `generateContent` method.
//!
//! The model and the kind of answer are in the path. Each content is one message, and its parts are the message's
//! blocks. Parts that are shown unchanged therefore keep their bytes and their thought signatures.

use std::borrow::Cow;
use std::ops::Range;

use bethink_model_http::gemini::{
    GeminiMessage, messages_of_contents, parts_of_blocks, with_response,
};
use bethink_model_http::{Provider, WireFormat};
use bethink_transcript::json::{encode_string, members, with_member};
use bytes::Bytes;
use http::HeaderMap;
use http::header::USER_AGENT;
use serde_json::value::RawValue;

use crate::conversation::{PromptPart, WrittenBlock, WrittenMessage};
use crate::envelope::{
    self, GatewayWire, Members, WireEnvelope, after_opening_brace, elements, position, with_element,
};

/// Beginning of Gemini CLI's user agent.
const GEMINI_CLI: &str = "GeminiCLI";

#[derive(Debug)]
pub(crate) struct GeminiWire {
    system_at: Option<Range<usize>>,
    /// Whether the provider has cached the system prompt and the tools. If so, the request itself must not contain them.
    has_cached_content: bool,
    messages: Vec<GeminiMessage>,
}

type GeminiEnvelope = WireEnvelope<GeminiWire>;

/// Returns the method that a route calls, such as `generateContent`.
pub(crate) fn called_method(route: &str) -> Option<&str> {
    route.rsplit_once('/')?.1.split_once(':').map(|(_, method)| method)
}

impl GatewayWire for GeminiWire {
    const PROVIDER: Provider = Provider::Gemini;

    fn format(request: &GeminiEnvelope) -> WireFormat {
        WireFormat::GenerateContent { message: request.wire.messages.len() }
    }

    fn model<'a>(route: &'a str, _: &'a Members<'_>) -> Option<&'a str> {
        route.rsplit_once('/')?.1.split(':').next()
    }

    fn conversation(body: &Bytes, members: &Members<'_>) -> Option<(Vec<Bytes>, Range<usize>)> {
        elements(body, members.contents.as_ref()?)
    }

    fn read(body: &Bytes, members: &Members<'_>) -> Option<Self> {
        let contents = members.contents.as_ref()?;
        let contents: Vec<&str> = contents.iter().map(|content| content.get()).collect();
        let given = |raw: &&RawValue| raw.get() != "null";
        Some(Self {
            system_at: members.system_instruction.map(|raw| position(body, raw.get())),
            has_cached_content: members.cached_content.filter(given).is_some(),
            messages: messages_of_contents(&contents)?,
        })
    }

    fn system(request: &GeminiEnvelope) -> Option<String> {
        let (_, parts) = request.system_parts()?;
        Some(envelope::text(parts))
    }

    fn messages(request: &GeminiEnvelope) -> Vec<Bytes> {
        let messages = request.wire.messages.iter();
        messages.map(|message| Bytes::from(message.json.clone())).collect()
    }

    fn edits(
        request: &GeminiEnvelope,
        system_added: Option<&str>,
        pieces: &[PromptPart],
    ) -> Option<Vec<(Range<usize>, String)>> {
        let added = system_added.map(|text| format!(r#"{{"text":{}}}"#, encode_string(text)));
        let mut contents: Vec<Cow<'_, str>> = Vec::with_capacity(pieces.len() + 1);
        let mut edits = Vec::new();
        match &added {
            Some(part) if request.wire.has_cached_content => {
                contents.push(Cow::Owned(format!(r#"{{"role":"user","parts":[{part}]}}"#)));
            }
            Some(part) => edits.push(request.with_system_part(part)?),
            None => {}
        }
        for piece in pieces {
            match piece {
                PromptPart::Client(index) => {
                    contents.extend(request.originals(*index..*index + 1)?);
                }
                PromptPart::Written(message) => {
                    contents.push(Cow::Owned(request.written(message)?));
                }
            }
        }
        edits.push((request.messages_at.clone(), format!("[{}]", contents.join(","))));
        Some(edits)
    }

    /// Gemini CLI also uses a model to decide who speaks next, to summarize and to search. These requests have no
    /// functions, and repeat parts of the conversation.
    fn is_side_request(request: &GeminiEnvelope, headers: &HeaderMap) -> bool {
        let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        let has_functions = || {
            let tools = request.tools.as_deref().map_or("", RawValue::get);
            ["\"functionDeclarations\"", "\"function_declarations\""]
                .iter()
                .any(|name| tools.contains(name))
        };
        agent.is_some_and(|agent| agent.starts_with(GEMINI_CLI)) && !has_functions()
    }
}

impl GeminiEnvelope {
    /// Returns the system instruction and its parts.
    fn system_parts(&self) -> Option<(&str, &str)> {
        let system = std::str::from_utf8(self.body.get(self.wire.system_at.clone()?)?).ok()?;
        let members = members(system)?;
        let (_, parts) = members.iter().find(|(name, _)| name == "parts")?;
        Some((system, parts.get()))
    }

    /// Returns the edit that appends a part to the system instruction.
    fn with_system_part(&self, part: &str) -> Option<(Range<usize>, String)> {
        let with_parts = |system: &str, parts: &str| {
            let system = with_member(system, "parts", parts)?;
            String::from_utf8(system.to_vec()).ok()
        };
        match (self.system_parts(), self.wire.system_at.clone()) {
            (Some((system, parts)), Some(at)) => {
                let list = match parts.starts_with('[') {
                    true => Cow::Borrowed(parts),
                    false => Cow::Owned(format!("[{parts}]")),
                };
                Some((at, with_parts(system, &with_element(&list, part)?)?))
            }
            (None, Some(at)) => Some((at, format!(r#"{{"parts":[{part}]}}"#))),
            (_, None) => {
                let system = format!(r#""systemInstruction":{{"parts":[{part}]}},"#);
                Some((after_opening_brace(&self.body)?, system))
            }
        }
    }

    /// Returns the content for a message that bethink wrote. Parts that are shown unchanged keep their bytes.
    fn written(&self, message: &WrittenMessage) -> Option<String> {
        let role = if message.is_user { "user" } else { "model" };
        let mut parts: Vec<Cow<'_, str>> = Vec::new();
        for block in &message.blocks {
            let json = std::str::from_utf8(&block.json).ok()?;
            match self.client_part(block) {
                Some((part, true)) => parts.push(Cow::Borrowed(part)),
                Some((part, false)) if json.contains("\"tool_result\"") => {
                    parts.push(Cow::Owned(with_response(part, json)?));
                }
                _ => parts.extend(parts_of_blocks([json])?.into_iter().map(Cow::Owned)),
            }
        }
        Some(format!(r#"{{"role":"{role}","parts":[{}]}}"#, parts.join(",")))
    }

    /// Returns the client's part that a block is from, and whether it is shown unchanged.
    fn client_part(&self, block: &WrittenBlock) -> Option<(&str, bool)> {
        let source = block.source?;
        let message = self.wire.messages.get(source.message)?;
        let part = message.parts.get(*message.blocks.get(source.block)?)?;
        Some((part, source.is_whole))
    }
}

#[cfg(test)]
mod tests;
