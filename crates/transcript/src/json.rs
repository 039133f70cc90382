//! JSON helpers that keep the original bytes: where values begin and end ([`Cursor`]), string decoding that
//! never fails, nesting depth, and changing one member of an object without touching the rest.

mod cursor;

use std::borrow::Cow;

use bytes::Bytes;
use memchr::memchr;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

pub use cursor::{BadJson, Cursor, string_end};

/// Decodes a JSON string literal. A lone surrogate, which JSON allows and UTF-8 does not, becomes U+FFFD, so that a
/// history that contains one is still readable.
pub fn decode_string(literal: &str) -> Cow<'_, str> {
    if let Some(inner) = literal.strip_prefix('"').and_then(|s| s.strip_suffix('"'))
        && !inner.contains('\\')
    {
        return Cow::Borrowed(inner);
    }
    if let Ok(text) = serde_json::from_str(literal) {
        return Cow::Owned(text);
    }
    let mut out = Vec::with_capacity(literal.len());
    unescape(&mut out, literal.trim().trim_matches('"').as_bytes());
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// Calls `each` with every string value in a JSON text, decoded, in order; member names are skipped. Works
/// without recursion, and stops where the text is no longer JSON.
pub fn for_each_json_string(text: &str, mut each: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr(b'"', &bytes[at..]) {
        let start = at + found;
        let Some(end) = string_end(bytes, start) else { return };
        let next = bytes[end..].iter().find(|byte| !byte.is_ascii_whitespace());
        if next != Some(&b':') {
            each(&decode_string(&text[start..end]));
        }
        at = end;
    }
}

/// Encodes text as a JSON string literal.
pub fn encode_string(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// A content block of type `text`.
pub fn text_block(text: &str) -> Bytes {
    Bytes::from(format!(r#"{{"type":"text","text":{}}}"#, encode_string(text)))
}

/// Appends the decoded content of a string literal without its quotes. Half a surrogate pair becomes U+FFFD.
pub fn unescape(out: &mut Vec<u8>, literal: &[u8]) {
    let mut rest = literal;
    while let Some(at) = memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(at);
        out.extend_from_slice(plain);
        let (c, length) = escaped(escape);
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        rest = escape.get(length..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

/// Returns the character that an escape encodes, and the escape's length in bytes.
fn escaped(escape: &[u8]) -> (char, usize) {
    let simple = |c| (c, 2);
    match escape.get(1) {
        Some(b'n') => simple('\n'),
        Some(b't') => simple('\t'),
        Some(b'r') => simple('\r'),
        Some(b'b') => simple('\u{8}'),
        Some(b'f') => simple('\u{c}'),
        Some(b'u') => {
            let Some(high) = unit(escape) else { return (char::REPLACEMENT_CHARACTER, 6) };
            let low = escape.get(6..).and_then(unit);
            match (high, low) {
                (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) => {
                    let code = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                    (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
                }
                _ => (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6),
            }
        }
        Some(other) => simple(char::from(*other)),
        None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

fn unit(escape: &[u8]) -> Option<u32> {
    let hex = escape.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

/// Returns the JSON with every lone surrogate escape (`\ud83d` without its partner) replaced with `\ufffd`, which has
/// the same length; `None` if there is no such escape. Providers reject a body that contains one, so the session would
/// be stuck.
pub fn without_lone_surrogates(json: &str) -> Option<Bytes> {
    let mut out = json.as_bytes().to_vec();
    let (mut at, mut changed) = (0, false);
    while let Some(found) = memchr(b'\\', out.get(at..).unwrap_or_default()) {
        at += found;
        at += match (surrogate(&out, at), surrogate(&out, at + 6)) {
            (Some(..=0xDBFF), Some(0xDC00..)) => 12,
            (Some(_), _) => {
                out[at..at + 6].copy_from_slice(b"\\ufffd");
                changed = true;
                6
            }
            (None, _) => 2,
        };
    }
    changed.then(|| Bytes::from(out))
}

/// Returns the surrogate whose escape starts at `at`.
fn surrogate(bytes: &[u8], at: usize) -> Option<u32> {
    unit(bytes.get(at..)?).filter(|code| (0xD800..=0xDFFF).contains(code))
}

/// Returns the nesting depth of arrays and objects in `text`. Works without recursion.
pub fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut at) = (0usize, 0, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = string_end(text, at).unwrap_or(text.len()) - 1,
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    deepest
}

/// Returns the object without the member `key`; all other members keep their bytes and order.
pub fn without_key(object: &str, key: &str) -> Option<Bytes> {
    let members = members(object)?;
    let others = members.iter().filter(|(name, _)| name != key);
    Some(object_of(others.map(|(name, value)| (name.as_str(), value.get())), object.len()))
}

/// Returns the object with the member `key` set to `value` (JSON). A new member is added at the end.
pub fn with_member(object: &str, key: &str, value: &str) -> Option<Bytes> {
    let members = members(object)?;
    let new = |name: &str, old| if name == key { value } else { old };
    let added = members.iter().all(|(name, _)| name != key).then_some((key, value));
    let members = members.iter().map(|(name, old)| (name.as_str(), new(name, old.get())));
    Some(object_of(members.chain(added), object.len() + value.len()))
}

fn object_of<'a>(members: impl Iterator<Item = (&'a str, &'a str)>, bytes: usize) -> Bytes {
    let mut out = String::with_capacity(bytes);
    for (name, value) in members {
        out.push(if out.is_empty() { '{' } else { ',' });
        out.push_str(&encode_string(name));
        out.push(':');
        out.push_str(value);
    }
    out.push_str(if out.is_empty() { "{}" } else { "}" });
    Bytes::from(out)
}

/// Returns the members of an object in order, with unchanged values; `None` if `object` is not exactly one object.
pub fn members(object: &str) -> Option<Vec<(String, &RawValue)>> {
    struct MembersVisitor;
    impl<'de> Visitor<'de> for MembersVisitor {
        type Value = Vec<(String, &'de RawValue)>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut out = Vec::new();
            while let Some(entry) = map.next_entry::<String, &'de RawValue>()? {
                out.push(entry);
            }
            Ok(out)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(object);
    let members = serde::Deserializer::deserialize_map(&mut deserializer, MembersVisitor).ok()?;
    deserializer.end().ok()?;
    Some(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_decode_whatever_they_hold() {
        for (literal, expect) in [
            (r#""plain""#, "plain"),
            (r#""a\nb\u00e9""#, "a\nbé"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\ud83d alone""#, "\u{FFFD} alone"),
            (r#""low \ude00""#, "low \u{FFFD}"),
            (r#""ends \ud83d""#, "ends \u{FFFD}"),
            (r#""\ud800\ud83d\ude00""#, "\u{FFFD}😀"),
        ] {
            assert_eq!(decode_string(literal), expect, "{literal}");
        }
    }

    #[test]
    fn lone_surrogates_are_replaced_and_nothing_else() {
        for (json, expect) in [
            (r#""plain""#, None),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""a\ud83d""#, Some(r#""a\ufffd""#)),
            (r#""\ude00b\n\uD83D\uDE00""#, Some(r#""\ufffdb\n\uD83D\uDE00""#)),
            (r#""\ud83d\ud83d\ude00\u00e9""#, Some(r#""\ufffd\ud83d\ude00\u00e9""#)),
        ] {
            let found = without_lone_surrogates(json);
            assert_eq!(found.as_deref(), expect.map(str::as_bytes), "{json}");
        }
    }

    #[test]
    fn string_values_are_found_without_their_names() {
        let check = |json: &str, expect: &[&str]| {
            let mut found = Vec::new();
            for_each_json_string(json, |text| found.push(text.to_owned()));
            assert_eq!(found, expect, "{json}");
        };
        check(r#"{"a":"b","c" : ["d","e\"\nf"],"g":1}"#, &["b", "d", "e\"\nf"]);
        check(r#""alone""#, &["alone"]);
        check(r#"{"a":"b\\"}"#, &["b\\"]);
        check(r#"{"a":"\ud83d"}"#, &["\u{FFFD}"]);
        check("{}", &[]);
        check(r#"{"a":"cut"#, &[]);
        check(r#"{"a":"cut\"#, &[]);
        check(&"[".repeat(100_000), &[]);
    }

    #[test]
    fn depth_ignores_strings() {
        for (text, expect) in
            [("1", 0), ("[]", 1), (r#"{"a":[1,{"b":2}]}"#, 3), (r#""[[[""#, 0), (r#"["\"[[["]"#, 1)]
        {
            assert_eq!(depth(text.as_bytes()), expect, "{text}");
        }
        assert_eq!(depth("[".repeat(10_000).as_bytes()), 10_000);
    }

    /// The cursor accepts exactly what serde accepts: every change of a byte is tried.
    #[test]
    fn a_cursor_and_serde_agree() {
        let good = br#" {"a" : [1, -0.5e+3, 0, true,null],"b\u00e9\n":{"":"\ud83d x"} , "c":[]} "#;
        let check = |text: &[u8]| {
            let mut at = Cursor::new(text);
            let walked = at.skip().is_ok() && at.end().is_ok();
            let read = serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok();
            assert_eq!(walked, read, "{}", String::from_utf8_lossy(text));
        };
        for at in 0..good.len() {
            check(&good[..at]);
            check(&[&good[..at], &good[at + 1..]].concat());
            for byte in *b"\"\\{}[],:0189-+.eEutfnx \n\t\x01\x0c/" {
                check(&[&good[..at], &[byte], &good[at + 1..]].concat());
                check(&[&good[..at], &[byte], &good[at..]].concat());
            }
        }
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(Cursor::new(nested(256).as_bytes()).skip().is_ok());
        assert_eq!(Cursor::new(nested(257).as_bytes()).skip(), Err(BadJson::Depth));
        assert_eq!(Cursor::with_depth(b"[{}]", 1).skip(), Err(BadJson::Depth));
    }

    #[test]
    fn members_keep_bytes_and_order() {
        let object =
            r#"{"z": 1e2,"type":"text" , "cache_control":{"type":"ephemeral"},"a":"\u0041"}"#;
        let bare = without_key(object, "cache_control").unwrap();
        assert_eq!(bare, r#"{"z":1e2,"type":"text","a":"\u0041"}"#);
        assert_eq!(with_member(r#"{"a":1}"#, "b", "2").unwrap(), r#"{"a":1,"b":2}"#);
        assert_eq!(with_member(r#"{"a":1,"b":0}"#, "a", "[]").unwrap(), r#"{"a":[],"b":0}"#);
    }
}
