//! A request's body, read once, and changed without touching what nobody asked to change.
//!
//! Members are found as stretches of the client's own bytes. A changed request is those bytes with one or two
//! stretches replaced, so that what this crate has never heard of goes up as it came.

use std::borrow::Cow;
use std::ops::Range;

use bethink_daemon::{Piece, Told};
use bethink_transcript::json::{decode_string, encode_string};
use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::asker::{Asker, Named};
use crate::wire::Wire;

/// A request in the format of one wire.
pub(crate) trait Envelope: Sized + Send + Sync {
    const WIRE: Wire;

    /// `None` where its messages can't be read: such a request goes up as it came, and nothing of it is kept.
    fn read(body: &Bytes) -> Option<Self>;

    fn named(&self) -> Named<'_>;

    fn told(&self, asker: Asker) -> Told;

    /// The body with these messages, and with `system_added` behind its system prompt. `None` where a piece names a
    /// message that is not there.
    fn changed(&self, system_added: Option<&str>, pieces: &[Piece]) -> Option<Bytes>;
}

/// Where `part`, which lies in `body`, lies there.
pub(crate) fn place(body: &[u8], part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(body.as_ptr() as usize);
    start..start + part.len()
}

/// The array around elements that lie in `body`.
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
