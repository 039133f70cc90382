//! A request's body, parsed once and changed in place.
//!
//! Members are byte ranges of the client's body. A changed request is that body with a few ranges replaced, so unknown members
//! are forwarded unchanged.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bethink_transcript::json::{decode_string, encode_string};
use bytes::Bytes;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::client_identity::ClientIdentity;
use crate::conversation::{ChainedHistory, GatewayRequest, PromptPart, RequestFrame};
use crate::fault::GatewayFault;
use bethink_model_http::{Provider, WireFormat};
use http::HeaderMap;

/// The parts of request handling that differ between the wire formats.
pub(crate) trait GatewayWire: Sized + Send + Sync {
    const PROVIDER: Provider;

    /// Returns the format of the answer.
    fn format(request: &WireEnvelope<Self>) -> WireFormat;

    /// Returns the name of the model.
    fn model<'a>(_route: &'a str, members: &'a Members<'_>) -> Option<&'a str> {
        members.model.as_deref()
    }

    /// Returns the elements of the conversation, and the range of their array in the body.
    fn conversation(body: &Bytes, members: &Members<'_>) -> Option<(Vec<Bytes>, Range<usize>)> {
        elements(body, members.messages.as_ref()?)
    }

    /// Reads the messages; `None` if they cannot be read. The request is then forwarded unchanged and not stored.
    fn read(body: &Bytes, members: &Members<'_>) -> Option<Self>;

    fn system(request: &WireEnvelope<Self>) -> Option<String>;

    /// Returns the system prompt as JSON in the format of the Messages API; empty if there is none.
    fn raw_system(request: &WireEnvelope<Self>) -> Bytes {
        let added = Self::system(request).and_then(|text| system_with("", &text));
        added.map_or_else(Bytes::new, Bytes::from)
    }

    /// Returns the messages in the format of the Messages API.
    fn messages(request: &WireEnvelope<Self>) -> Vec<Bytes>;

    /// Returns the replacements that put these messages into the body, and append `system_added` to the system prompt.
    /// `None` if a piece refers to a message that does not exist.
    fn edits(
        request: &WireEnvelope<Self>,
        system_added: Option<&str>,
        pieces: &[PromptPart],
    ) -> Option<Vec<(Range<usize>, String)>>;

    /// Returns whether the client program made the request for its own use, for example to find out who speaks next.
    /// Such a request repeats parts of a conversation that the program also sends in ordinary requests.
    fn is_side_request(_: &WireEnvelope<Self>, _: &HeaderMap) -> bool {
        false
    }

    /// Returns the ID of the answer that the request continues, if it sends that ID instead of the earlier messages.
    fn previous(_: &WireEnvelope<Self>) -> Option<&str> {
        None
    }

    /// Adds the earlier messages to those of the request.
    fn precede(_: &mut WireEnvelope<Self>, _: ChainedHistory) {}

    fn history(_: &WireEnvelope<Self>) -> Option<&ChainedHistory> {
        None
    }

    /// Returns the leading instructions, if a later request may refer to the answer by its ID instead of repeating the conversation.
    fn chain_heads(_: &WireEnvelope<Self>) -> Option<Arc<[String]>> {
        None
    }
}

/// A parsed request.
#[derive(Debug)]
pub(crate) struct WireEnvelope<W> {
    pub(crate) body: Bytes,
    /// The client's messages as they were sent, and the position of their array.
    pub(crate) raw: Vec<Bytes>,
    pub(crate) messages_at: Range<usize>,
    pub(crate) tools: Option<Box<RawValue>>,
    pub(crate) wire: W,
    pub(crate) model: String,
    max_output: Option<u64>,
    metadata: Option<Box<RawValue>>,
    prompt_cache_key: Option<Box<RawValue>>,
}

/// The members of a body that the gateway reads, in any wire format.
#[derive(Deserialize)]
pub(crate) struct Members<'a> {
    #[serde(borrow)]
    pub(crate) messages: Option<Vec<&'a RawValue>>,
    pub(crate) input: Option<InputItems<'a>>,
    pub(crate) instructions: Option<&'a RawValue>,
    pub(crate) previous_response_id: Option<&'a RawValue>,
    pub(crate) conversation: Option<&'a RawValue>,
    pub(crate) store: Option<&'a RawValue>,
    pub(crate) contents: Option<Vec<&'a RawValue>>,
    #[serde(
        borrow,
        default,
        rename = "systemInstruction",
        alias = "system_instruction",
        deserialize_with = "present"
    )]
    pub(crate) system_instruction: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "cachedContent", alias = "cached_content")]
    pub(crate) cached_content: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) system: Option<&'a RawValue>,
    pub(crate) cache_control: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    tools: Option<&'a RawValue>,
    metadata: Option<&'a RawValue>,
    prompt_cache_key: Option<&'a RawValue>,
    max_tokens: Option<&'a RawValue>,
    max_completion_tokens: Option<&'a RawValue>,
    max_output_tokens: Option<&'a RawValue>,
}

/// The `input` member of a Responses API request. Its elements are found while the body is parsed, so the body is parsed only
/// once.
#[derive(Debug)]
pub(crate) enum InputItems<'a> {
    Text,
    Items(Vec<&'a RawValue>),
    Unknown,
}

impl<'de: 'a, 'a> Deserialize<'de> for InputItems<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(InputVisitor)
    }
}

struct InputVisitor;

impl<'de> Visitor<'de> for InputVisitor {
    type Value = InputItems<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string or a list of items")
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(InputItems::Text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut found: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = found.next_element()? {
            items.push(item);
        }
        Ok(InputItems::Items(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut found: A) -> Result<Self::Value, A::Error> {
        while found.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(InputItems::Unknown)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(InputItems::Unknown)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(InputItems::Unknown)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(InputItems::Unknown)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(InputItems::Unknown)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(InputItems::Unknown)
    }
}

impl<W: GatewayWire> WireEnvelope<W> {
    pub(crate) fn read(route: &str, body: &Bytes) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let members: Members<'_> = serde_json::from_str(text).ok()?;
        let limits = [members.max_completion_tokens, members.max_tokens, members.max_output_tokens];
        let limit = limits.into_iter().flatten().next();
        let (raw, messages_at) = W::conversation(body, &members)?;
        Some(Self {
            raw,
            messages_at,
            wire: W::read(body, &members)?,
            model: W::model(route, &members).unwrap_or_default().to_owned(),
            max_output: limit.and_then(|raw| raw.get().parse().ok()),
            tools: members.tools.map(RawValue::to_owned),
            metadata: members.metadata.map(RawValue::to_owned),
            prompt_cache_key: members.prompt_cache_key.map(RawValue::to_owned),
            body: body.clone(),
        })
    }

    pub(crate) fn request(&self, headers: &HeaderMap) -> Result<GatewayRequest, GatewayFault> {
        let (metadata, key) = (self.metadata.as_deref(), self.prompt_cache_key.as_deref());
        let identity = ClientIdentity::read(W::PROVIDER, headers, metadata, key)?;
        let history = W::history(self);
        Ok(GatewayRequest {
            entrance: W::PROVIDER.as_str(),
            // The suffix that clients use for a window of a million tokens.
            model: if identity.long_context {
                format!("{}[1m]", self.model)
            } else {
                self.model.clone()
            },
            max_output: self.max_output,
            session: identity.session.or(history.map(|history| history.session)),
            client: identity.client,
            project_dir: identity.project_dir,
            default_project: identity.default_project,
            system: W::system(self),
            tools: self.tools.clone(),
            messages: W::messages(self),
            body_bytes: self.body.len() + history.map_or(0, ChainedHistory::bytes),
            chain_heads: W::chain_heads(self),
            inject: identity.inject,
            frame: RequestFrame {
                body: self.body.clone(),
                messages_at: self.messages_at.clone(),
                system: W::raw_system(self),
                betas: betas(headers),
                own_messages: W::PROVIDER == Provider::Anthropic,
            },
            client_model: None,
        })
    }

    /// Returns the client's elements in this range, as they were sent.
    pub(crate) fn originals(&self, range: Range<usize>) -> Option<Vec<Cow<'_, str>>> {
        let raw = self.raw.get(range)?.iter();
        raw.map(|element| std::str::from_utf8(element).ok().map(Cow::Borrowed)).collect()
    }

    /// Returns the body with these messages, and with `system_added` after its system prompt.
    pub(crate) fn changed(
        &self,
        system_added: Option<&str>,
        pieces: &[PromptPart],
    ) -> Option<Bytes> {
        let mut edits = W::edits(self, system_added, pieces)?;
        edits.sort_by_key(|(range, _)| range.start);
        splice(&self.body, &edits)
    }
}

/// Returns the client's beta features, as one header value.
fn betas(headers: &HeaderMap) -> String {
    let values = headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
    values.collect::<Vec<_>>().join(",")
}

/// Returns the range of `part` in `body`, which contains it.
pub(crate) fn position(body: &[u8], part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(body.as_ptr() as usize);
    start..start + part.len()
}

/// Returns the elements of an array, and the array's range in the body.
pub(crate) fn elements(body: &Bytes, raw: &[&RawValue]) -> Option<(Vec<Bytes>, Range<usize>)> {
    let parts = raw.iter().map(|raw| body.slice(position(body, raw.get()))).collect();
    Some((parts, array_position(body, raw)?))
}

/// Returns the input of the Responses API as a list of items, and its range in the body. A string counts as one item.
pub(crate) fn input_items(
    body: &Bytes,
    members: &Members<'_>,
) -> Option<(Vec<Bytes>, Range<usize>)> {
    #[derive(Deserialize)]
    struct TextInput<'a> {
        #[serde(borrow)]
        input: &'a RawValue,
    }
    match members.input.as_ref()? {
        InputItems::Items(items) => elements(body, items),
        InputItems::Text => {
            let text: TextInput<'_> = serde_json::from_slice(body).ok()?;
            let at = position(body, text.input.get());
            Some((vec![body.slice(at.clone())], at))
        }
        InputItems::Unknown => None,
    }
}

/// Returns the range of the array that contains these elements of `body`.
pub(crate) fn array_position(body: &[u8], elements: &[&RawValue]) -> Option<Range<usize>> {
    let first = position(body, elements.first()?.get());
    let last = position(body, elements.last()?.get());
    let open = body.get(..first.start)?.iter().rposition(|b| *b == b'[')?;
    let close = body.get(last.end..)?.iter().position(|b| *b == b']')?;
    Some(open..last.end + close + 1)
}

/// Returns `body` with these ranges replaced. They must be in order, and must not overlap.
pub(crate) fn splice(body: &[u8], edits: &[(Range<usize>, String)]) -> Option<Bytes> {
    let grown: usize = edits.iter().map(|(_, new)| new.len()).sum();
    let mut out = Vec::with_capacity(body.len() + grown);
    let mut at = 0;
    for (range, new) in edits {
        out.extend_from_slice(body.get(at..range.start)?);
        out.extend_from_slice(new.as_bytes());
        at = range.end;
    }
    out.extend_from_slice(body.get(at..)?);
    Some(Bytes::from(out))
}

/// Returns the empty range after the body's opening brace.
pub(crate) fn after_opening_brace(body: &[u8]) -> Option<Range<usize>> {
    let open = body.iter().position(|b| *b == b'{')? + 1;
    Some(open..open)
}

/// Reads a member as `Some` if it exists, even if it is `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// The text of a content part, if it has one.
#[derive(Deserialize)]
struct TextPart<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

/// Returns the text of a content string, or of an array of parts.
pub(crate) fn text(content: &str) -> String {
    if content.starts_with('"') {
        return decode_string(content).into_owned();
    }
    let parts: Vec<TextPart<'_>> = serde_json::from_str(content).unwrap_or_default();
    let texts = parts.iter().filter_map(|part| part.text).filter(|t| t.get().starts_with('"'));
    texts.map(|text| decode_string(text.get())).collect::<Vec<Cow<'_, str>>>().join("\n\n")
}

/// Returns the JSON string `literal` with `added` appended as a separate paragraph.
pub(crate) fn with_paragraph(literal: &str, added: &str) -> String {
    let added = encode_string(added);
    match literal.strip_suffix('"') {
        Some("\"") | None => added,
        Some(before) => format!("{before}\\n\\n{}", added.strip_prefix('"').unwrap_or(&added)),
    }
}

/// Returns a system prompt of the Messages API with `added` at its end; `None` if the prompt is invalid. The provider
/// then reports the error.
pub(crate) fn system_with(system: &str, added: &str) -> Option<String> {
    let block = format!(r#"{{"type":"text","text":{}}}"#, encode_string(added));
    match system.as_bytes().first() {
        Some(b'"') => Some(with_paragraph(system, added)),
        Some(b'[') => with_element(system, &block),
        None => Some(format!("[{block}]")),
        _ => (system == "null").then(|| format!("[{block}]")),
    }
}

/// Returns the JSON array with `element` at its end.
pub(crate) fn with_element(array: &str, element: &str) -> Option<String> {
    let inside = array.strip_suffix(']')?.trim_end();
    let comma = if inside == "[" { "" } else { "," };
    Some(format!("{inside}{comma}{element}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_found_by_their_elements() {
        let body = r#" {"a":["["], "messages" : [ {"x":"]"} ,7 ] , "b":[]}"#;
        #[derive(Deserialize)]
        struct Members<'a> {
            #[serde(borrow)]
            messages: Vec<&'a RawValue>,
        }
        let members: Members<'_> = serde_json::from_str(body).unwrap();
        let at = array_position(body.as_bytes(), &members.messages).unwrap();
        assert_eq!(&body[at.clone()], r#"[ {"x":"]"} ,7 ]"#);
        let spliced = splice(body.as_bytes(), &[(at, "[]".into())]).unwrap();
        assert_eq!(spliced, r#" {"a":["["], "messages" : [] , "b":[]}"#);
    }

    #[test]
    fn texts_grow_inside_of_their_literal() {
        assert_eq!(with_paragraph(r#""a\u0041""#, "x\"y"), r#""a\u0041\n\nx\"y""#);
        assert_eq!(with_paragraph(r#""""#, "x"), r#""x""#);
        assert_eq!(with_element("[ ]", "1").unwrap(), "[1]");
        assert_eq!(with_element("[1 ]", "2").unwrap(), "[1,2]");
    }

    #[test]
    fn text_is_read_from_strings_and_parts() {
        assert_eq!(text(r#""a\nb""#), "a\nb");
        assert_eq!(text(r#"[{"type":"text","text":"a"},{"x":1},{"text":"b"}]"#), "a\n\nb");
        assert_eq!(text("7"), "");
    }
}
