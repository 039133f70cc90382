//! A request's body, read once, and changed without touching what nobody asked to change.
//!
//! Members are found as stretches of the client's own bytes. A changed request is those bytes with one or two
//! stretches replaced, so that what this crate has never heard of goes up as it came.

use std::borrow::Cow;
use std::ops::Range;

use bethink_transcript::json::{decode_string, encode_string};
use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::asker::{ClientIdentity, ClientMetadata};
use crate::conversation::{GatewayRequest, PromptPart};
use bethink_model_http::Provider;

/// What differs between the formats of requests.
pub(crate) trait GatewayWire: Sized + Send + Sync {
    const PROVIDER: Provider;

    /// `None` if the messages cannot be read. The request is then forwarded unchanged, and none of it is stored.
    fn read(body: &Bytes, members: &Members<'_>) -> Option<Self>;

    fn system(request: &WireEnvelope<Self>) -> Option<String>;

    /// The messages in our vocabulary.
    fn messages(request: &WireEnvelope<Self>) -> Vec<Bytes>;

    /// What is replaced for these messages, and for `system_added` behind the system prompt. `None` where a piece
    /// names a message that is not there.
    fn edits(
        request: &WireEnvelope<Self>,
        system_added: Option<&str>,
        pieces: &[PromptPart],
    ) -> Option<Vec<(Range<usize>, String)>>;
}

/// A request, read.
#[derive(Debug)]
pub(crate) struct WireEnvelope<W> {
    pub(crate) body: Bytes,
    /// The client's messages as they were sent, and the position of their array.
    pub(crate) raw: Vec<Bytes>,
    pub(crate) messages_at: Range<usize>,
    pub(crate) tools: Option<Box<RawValue>>,
    pub(crate) wire: W,
    model: String,
    max_output: Option<u64>,
    metadata: Option<Box<RawValue>>,
    prompt_cache_key: Option<Box<RawValue>>,
}

/// The members of a body that are read, of all wires.
#[derive(Deserialize)]
pub(crate) struct Members<'a> {
    #[serde(borrow)]
    pub(crate) messages: Vec<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "there")]
    pub(crate) system: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) cache_control: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    prompt_cache_key: Option<&'a RawValue>,
    #[serde(borrow, default)]
    max_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    max_completion_tokens: Option<&'a RawValue>,
}

impl<W: GatewayWire> WireEnvelope<W> {
    pub(crate) fn read(body: &Bytes) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let members: Members<'_> = serde_json::from_str(text).ok()?;
        let limit = members.max_completion_tokens.or(members.max_tokens);
        let raw = members.messages.iter().map(|raw| body.slice(place(body, raw.get())));
        Some(Self {
            raw: raw.collect(),
            messages_at: array_place(body, &members.messages)?,
            wire: W::read(body, &members)?,
            model: members.model.unwrap_or_default().into_owned(),
            max_output: limit.and_then(|raw| raw.get().parse().ok()),
            tools: members.tools.map(RawValue::to_owned),
            metadata: members.metadata.map(RawValue::to_owned),
            prompt_cache_key: members.prompt_cache_key.map(RawValue::to_owned),
            body: body.clone(),
        })
    }

    pub(crate) fn named(&self) -> ClientMetadata<'_> {
        let (metadata, key) = (self.metadata.as_deref(), self.prompt_cache_key.as_deref());
        ClientMetadata { metadata, prompt_cache_key: key }
    }

    pub(crate) fn request(&self, asker: ClientIdentity) -> GatewayRequest {
        GatewayRequest {
            entrance: W::PROVIDER.as_str(),
            // As clients of that window write it themselves.
            model: if asker.wide { format!("{}[1m]", self.model) } else { self.model.clone() },
            max_output: self.max_output,
            session: asker.session,
            client: asker.client,
            project_dir: asker.project_dir,
            system: W::system(self),
            tools: self.tools.clone(),
            messages: W::messages(self),
            body_bytes: self.body.len(),
            inject: asker.inject,
        }
    }

    /// The body with these messages, and with `system_added` behind its system prompt.
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

/// The position of `part` in `body`, which contains it.
pub(crate) fn place(body: &[u8], part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(body.as_ptr() as usize);
    start..start + part.len()
}

/// The array around elements of `body`.
pub(crate) fn array_place(body: &[u8], elements: &[&RawValue]) -> Option<Range<usize>> {
    let first = place(body, elements.first()?.get());
    let last = place(body, elements.last()?.get());
    let open = body.get(..first.start)?.iter().rposition(|b| *b == b'[')?;
    let close = body.get(last.end..)?.iter().position(|b| *b == b']')?;
    Some(open..last.end + close + 1)
}

/// `body` with stretches replaced; they are in order and don't overlap.
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

/// Right behind the body's opening brace.
pub(crate) fn opening(body: &[u8]) -> Option<Range<usize>> {
    let open = body.iter().position(|b| *b == b'{')? + 1;
    Some(open..open)
}

/// A member that is there, `null` too.
pub(crate) fn there<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// What can be read of a part of a message.
#[derive(Deserialize)]
struct TextPart<'a> {
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

/// The text of a string, or of an array of parts.
pub(crate) fn text(content: &str) -> String {
    if content.starts_with('"') {
        return decode_string(content).into_owned();
    }
    let parts: Vec<TextPart<'_>> = serde_json::from_str(content).unwrap_or_default();
    let texts = parts.iter().filter_map(|part| part.text).filter(|t| t.get().starts_with('"'));
    texts.map(|text| decode_string(text.get())).collect::<Vec<Cow<'_, str>>>().join("\n\n")
}

/// `literal`, a JSON string, with `added` behind it as a paragraph of its own.
pub(crate) fn longer(literal: &str, added: &str) -> String {
    let added = encode_string(added);
    match literal.strip_suffix('"') {
        Some("\"") | None => added,
        Some(before) => format!("{before}\\n\\n{}", added.strip_prefix('"').unwrap_or(&added)),
    }
}

/// A JSON array with one element more.
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
        let at = array_place(body.as_bytes(), &members.messages).unwrap();
        assert_eq!(&body[at.clone()], r#"[ {"x":"]"} ,7 ]"#);
        let spliced = splice(body.as_bytes(), &[(at, "[]".into())]).unwrap();
        assert_eq!(spliced, r#" {"a":["["], "messages" : [] , "b":[]}"#);
    }

    #[test]
    fn texts_grow_inside_of_their_literal() {
        assert_eq!(longer(r#""a\u0041""#, "x\"y"), r#""a\u0041\n\nx\"y""#);
        assert_eq!(longer(r#""""#, "x"), r#""x""#);
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
