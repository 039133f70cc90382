//! Small readings of JSON that keep the original bytes: string decoding that never fails, depth, and
//! the removal of one key from an object without touching the rest.

use std::borrow::Cow;

use bytes::Bytes;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// Decodes a JSON string literal. A lone surrogate, which JSON allows and UTF-8 does not, becomes
/// U+FFFD, so that a history holding one is still readable.
pub fn decode_string(literal: &str) -> Cow<'_, str> {
    if let Some(inner) = literal.strip_prefix('"').and_then(|s| s.strip_suffix('"'))
        && !inner.contains('\\')
    {
        return Cow::Borrowed(inner);
    }
    match serde_json::from_str::<String>(literal) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Owned(decode_lossy(literal)),
    }
}

/// Serialises text as a JSON string literal.
pub fn encode_string(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// A `text` block holding `text`.
pub fn text_block(text: &str) -> Bytes {
    Bytes::from(format!(r#"{{"type":"text","text":{}}}"#, encode_string(text)))
}

fn decode_lossy(literal: &str) -> String {
    let inner = literal.trim().trim_matches('"');
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    let mut pending: Option<u32> = None;
    while let Some(c) = chars.next() {
        let unit = if c == '\\' { escape(&mut chars) } else { Unit::Char(c) };
        match (unit, pending.take()) {
            (Unit::Low(low), Some(high)) => {
                let code = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            (unit, high) => {
                if high.is_some() {
                    out.push(char::REPLACEMENT_CHARACTER);
                }
                match unit {
                    Unit::Char(c) => out.push(c),
                    Unit::High(high) => pending = Some(high),
                    Unit::Low(_) => out.push(char::REPLACEMENT_CHARACTER),
                }
            }
        }
    }
    if pending.is_some() {
        out.push(char::REPLACEMENT_CHARACTER);
    }
    out
}

enum Unit {
    Char(char),
    High(u32),
    Low(u32),
}

fn escape(chars: &mut std::str::Chars<'_>) -> Unit {
    match chars.next() {
        Some('n') => Unit::Char('\n'),
        Some('t') => Unit::Char('\t'),
        Some('r') => Unit::Char('\r'),
        Some('b') => Unit::Char('\u{8}'),
        Some('f') => Unit::Char('\u{c}'),
        Some('u') => {
            let hex: String = chars.by_ref().take(4).collect();
            match u32::from_str_radix(&hex, 16) {
                Ok(high @ 0xD800..=0xDBFF) => Unit::High(high),
                Ok(low @ 0xDC00..=0xDFFF) => Unit::Low(low),
                Ok(code) => Unit::Char(char::from_u32(code).unwrap_or('\u{FFFD}')),
                Err(_) => Unit::Char('\u{FFFD}'),
            }
        }
        Some(other) => Unit::Char(other),
        None => Unit::Char('\u{FFFD}'),
    }
}

/// The same JSON with every lone surrogate escape (`\\ud83d` without its partner) as U+FFFD; `None`
/// where there is none. Providers refuse a body that holds one, and a session would be stuck.
pub fn without_lone_surrogates(json: &str) -> Option<Bytes> {
    let bytes = json.as_bytes();
    let mut out: Option<Vec<u8>> = None;
    let (mut at, mut copied) = (0, 0);
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|b| *b == b'\\')) {
        at += found;
        let lone = match surrogate(bytes, at) {
            Some(0xD800..=0xDBFF) => {
                let paired = matches!(surrogate(bytes, at + 6), Some(0xDC00..=0xDFFF));
                at += if paired { 12 } else { 6 };
                !paired
            }
            Some(_) => {
                at += 6;
                true
            }
            None => {
                at += 2;
                false
            }
        };
        if lone {
            let out = out.get_or_insert_default();
            out.extend_from_slice(bytes.get(copied..at - 6).unwrap_or_default());
            out.extend_from_slice(b"\\ufffd");
            copied = at;
        }
    }
    let mut out = out?;
    out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
    Some(Bytes::from(out))
}

/// The surrogate whose escape starts at `at`.
fn surrogate(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let hex = escape.strip_prefix(b"\\u")?;
    let code = u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?;
    (0xD800..=0xDFFF).contains(&code).then_some(code)
}

/// Deepest nesting of arrays and objects in `text`, found without recursion.
pub fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0, false, false);
    for &byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The object without the member `key`; every other member keeps its bytes and its place.
pub fn without_key(object: &str, key: &str) -> Option<Bytes> {
    let members = members(object)?;
    let mut out = String::with_capacity(object.len());
    out.push('{');
    for (name, value) in members.iter().filter(|(name, _)| name != key) {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&encode_string(name));
        out.push(':');
        out.push_str(value.get());
    }
    out.push('}');
    Some(Bytes::from(out))
}

/// The object with `value` (JSON) in place of member `key`, or added last.
pub fn with_member(object: &str, key: &str, value: &str) -> Option<Bytes> {
    let members = members(object)?;
    let mut out = String::with_capacity(object.len() + value.len());
    out.push('{');
    let mut placed = false;
    for (name, old) in &members {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&encode_string(name));
        out.push(':');
        placed |= name == key;
        out.push_str(if name == key { value } else { old.get() });
    }
    if !placed {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&encode_string(key));
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    Some(Bytes::from(out))
}

/// The members of an object in order, values untouched.
pub fn members(object: &str) -> Option<Vec<(String, &RawValue)>> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
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
    serde::Deserializer::deserialize_map(&mut deserializer, Members).ok()
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
    fn depth_ignores_strings() {
        for (text, expect) in
            [("1", 0), ("[]", 1), (r#"{"a":[1,{"b":2}]}"#, 3), (r#""[[[""#, 0), (r#"["\"[[["]"#, 1)]
        {
            assert_eq!(depth(text.as_bytes()), expect, "{text}");
        }
        assert_eq!(depth("[".repeat(10_000).as_bytes()), 10_000);
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
