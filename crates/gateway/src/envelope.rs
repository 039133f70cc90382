//! A request's body, parsed once and changed in place.
//!
//! Members are byte ranges of the client's body. A changed request is that body with one or two ranges replaced, so
//! unknown members are forwarded unchanged.

use std::borrow::Cow;
use std::ops::Range;

use bethink_transcript::json::{decode_string, encode_string};
use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::client_identity::ClientIdentity;
use crate::conversation::{GatewayRequest, PromptPart, RequestFrame};
use crate::fault::GatewayFault;
use bethink_model_http::Provider;
use http::HeaderMap;

/// The parts of request handling that differ between the wire formats.
pub(crate) trait GatewayWire: Sized + Send + Sync {
    const PROVIDER: Provider;

    /// Reads the messages; `None` if that is impossible. The request is then forwarded unchanged and not stored.
    fn read(body: &Bytes, members: &Members<'_>) -> Option<Self>;

    fn system(request: &WireEnvelope<Self>) -> Option<String>;

    /// Returns the system prompt as JSON of the Messages API; empty for none.
    fn raw_system(request: &WireEnvelope<Self>) -> Bytes;

    /// Returns the messages in the format of the Messages API.
    fn messages(request: &WireEnvelope<Self>) -> Vec<Bytes>;

    /// Returns the replacements that put these messages into the body, and append `system_added` to the system prompt.
    /// `None` if a piece refers to a message that does not exist.
    fn edits(
        request: &WireEnvelope<Self>,
        system_added: Option<&str>,
        pieces: &[PromptPart],
    ) -> Option<Vec<(Range<usize>, String)>>;
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

/// The members of a body that are read, for all wire formats.
#[derive(Deserialize)]
pub(crate) struct Members<'a> {
    #[serde(borrow)]
    pub(crate) messages: Vec<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
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
        let raw = members.messages.iter().map(|raw| body.slice(position(body, raw.get())));
        Some(Self {
            raw: raw.collect(),
            messages_at: array_position(body, &members.messages)?,
            wire: W::read(body, &members)?,
            model: members.model.unwrap_or_default().into_owned(),
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
        Ok(GatewayRequest {
            entrance: W::PROVIDER.as_str(),
            // The suffix that clients use for a window of a million tokens.
            model: if identity.long_context {
                format!("{}[1m]", self.model)
            } else {
                self.model.clone()
            },
            max_output: self.max_output,
            session: identity.session,
            client: identity.client,
            project_dir: identity.project_dir,
            default_project: identity.default_project,
            system: W::system(self),
            tools: self.tools.clone(),
            messages: W::messages(self),
            body_bytes: self.body.len(),
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

/// Returns the range of the array that contains these elements of `body`.
pub(crate) fn array_position(body: &[u8], elements: &[&RawValue]) -> Option<Range<usize>> {
    let first = position(body, elements.first()?.get());
    let last = position(body, elements.last()?.get());
    let open = body.get(..first.start)?.iter().rposition(|b| *b == b'[')?;
    let close = body.get(last.end..)?.iter().position(|b| *b == b']')?;
    Some(open..last.end + close + 1)
}

/// Returns `body` with ranges replaced, which are in order and do not overlap.
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

/// Reads a member that exists, even if it is `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// The text of a content part, if it has one.
#[derive(Deserialize)]
struct TextPart<'a> {
    #[serde(borrow, default)]
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

/// Returns a system prompt of the Messages API with `added` at its end; `None` if it is invalid, which the provider reports.
pub(crate) fn system_with(system: &str, added: &str) -> Option<String> {
    let block = format!(r#"{{"type":"text","text":{}}}"#, encode_string(added));
    match system.as_bytes().first() {
        Some(b'"') => Some(with_paragraph(system, added)),
        Some(b'[') => with_element(system, &block),
        None => Some(format!("[{block}]")),
        _ => (system == "null").then(|| format!("[{block}]")),
    }
}

/// Returns a JSON array with one more element.
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
