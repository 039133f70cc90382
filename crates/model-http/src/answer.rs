//! Parses an answer's content, in the format of the Messages API.

use std::borrow::Cow;

use bethink_transcript::json::{decode_string, depth, encode_string};
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Block, Message, MessageId, MessageMeta, Seq, UnixMicros};
use bytes::Bytes;
use serde_json::value::RawValue;

use crate::limits::MAX_DEPTH;
use crate::trouble::ProviderTrouble;

/// Parses a message that is not stored.
pub(crate) fn message(json: Bytes) -> Result<Message, ProviderTrouble> {
    let id = MessageId::new("answer").map_err(|e| ProviderTrouble::broken(e.to_string()))?;
    let meta = MessageMeta { seq: Seq::ZERO, id, created_at: UnixMicros(0) };
    Message::parse(meta, json, MessageSource::Client)
        .map_err(|e| ProviderTrouble::broken(format!("the answer's content is invalid: {e}")))
}

/// Parses a JSON array of blocks; each block keeps its bytes.
pub(crate) fn blocks(content: &str) -> Result<Vec<Block>, ProviderTrouble> {
    let json = format!(r#"{{"role":"assistant","content":{content}}}"#);
    Ok(message(Bytes::from(json))?.blocks.into_vec())
}

/// Returns a tool's input as a JSON object, from the text that the model wrote. Text that is not a JSON object, because
/// it is invalid or was cut off, becomes `{"_raw": "…"}`, so that the program that runs the tool can show it to the
/// model. Empty text becomes an empty object.
pub fn input(text: &str) -> Cow<'_, str> {
    let bare = text.trim();
    if bare.is_empty() {
        return Cow::Borrowed("{}");
    }
    let sound = bare.starts_with('{')
        && depth(bare.as_bytes()) <= MAX_DEPTH
        && serde_json::from_str::<&RawValue>(bare).is_ok();
    if sound {
        Cow::Borrowed(bare)
    } else {
        Cow::Owned(format!(r#"{{"_raw":{}}}"#, encode_string(text)))
    }
}

/// Returns the image block of the Messages API for a URL, which may contain the image itself.
pub fn image_block(url: &str) -> String {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let source = match inline {
        Some((kind, data)) => format!(
            r#"{{"type":"base64","media_type":{},"data":{}}}"#,
            encode_string(kind),
            encode_string(data)
        ),
        None => format!(r#"{{"type":"url","url":{}}}"#, encode_string(url)),
    };
    format!(r#"{{"type":"image","source":{source}}}"#)
}

/// A string that arrives in pieces, stored as one JSON string literal without its quotes. The bytes stay unchanged, and
/// the halves of a surrogate pair are joined.
#[derive(Debug, Default)]
pub(crate) struct Literal(String);

impl Literal {
    /// Appends a piece. Returns `None` if it is not a string.
    pub(crate) fn push(&mut self, piece: &RawValue) -> Option<()> {
        self.0.push_str(piece.get().strip_prefix('"')?.strip_suffix('"')?);
        Some(())
    }

    pub(crate) fn push_text(&mut self, text: &str) {
        let literal = encode_string(text);
        self.0.push_str(literal.get(1..literal.len() - 1).unwrap_or_default());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the JSON literal.
    pub(crate) fn json(&self) -> String {
        format!("\"{}\"", self.0)
    }

    pub(crate) fn text(&self) -> String {
        decode_string(&self.json()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_always_an_object() {
        let deep = format!("{}1{}", "{\"a\":".repeat(MAX_DEPTH + 1), "}".repeat(MAX_DEPTH + 1));
        for (text, expect) in [
            ("", "{}"),
            (" \n", "{}"),
            (r#" {"b": 1,"a":[2]} "#, r#"{"b": 1,"a":[2]}"#),
            (r#"{"a": "cut o"#, r#"{"_raw":"{\"a\": \"cut o"}"#),
            ("[1]", r#"{"_raw":"[1]"}"#),
            ("null", r#"{"_raw":"null"}"#),
            ("ls -la", r#"{"_raw":"ls -la"}"#),
            ("{} {}", r#"{"_raw":"{} {}"}"#),
        ] {
            assert_eq!(input(text), expect, "{text}");
        }
        assert!(input(&deep).starts_with(r#"{"_raw":"{"#));
    }

    #[test]
    fn pieces_join_as_they_came() {
        let mut literal = Literal::default();
        for piece in [r#""a\u00e9""#, r#""\ud83d""#, r#""\ude00""#, r#""é\n""#] {
            literal.push(serde_json::from_str(piece).unwrap()).unwrap();
        }
        assert_eq!(literal.json(), r#""a\u00e9\ud83d\ude00é\n""#);
        assert_eq!(literal.text(), "aé😀é\n");
        assert_eq!(literal.push(serde_json::from_str("1").unwrap()), None);
        literal.push_text("\"q\"");
        assert_eq!(literal.text(), "aé😀é\n\"q\"");
    }
}
