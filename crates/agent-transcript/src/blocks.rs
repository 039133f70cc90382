//! Content blocks in the shape of the Messages API.

use serde_json::{Value, json};

pub(crate) fn text(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| json!({ "type": "text", "text": text }))
}

/// Returns a tool call. Some agents store the input as a string of JSON.
pub(crate) fn call(id: &str, name: &str, input: &Value) -> Value {
    let decoded = input.as_str().and_then(|text| serde_json::from_str(text).ok());
    let input = match decoded.as_ref().unwrap_or(input) {
        object @ Value::Object(_) => object.clone(),
        Value::Null => json!({}),
        other => json!({ "input": other }),
    };
    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
}

pub(crate) fn result(id: &str, text: &str, is_error: bool) -> Value {
    let mut block = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
    if is_error {
        block["is_error"] = json!(true);
    }
    block
}

/// Returns a thinking block; `None` without a signature, because no provider would accept the block again.
pub(crate) fn thinking(text: &str, signature: Option<&str>) -> Option<Value> {
    let signature = signature.filter(|signature| !signature.is_empty())?;
    Some(json!({ "type": "thinking", "thinking": text, "signature": signature }))
}

/// Returns an image block for a `data:` or `http` URL; `None` for any other URL.
pub(crate) fn image(url: &str) -> Option<Value> {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match inline {
        Some((kind, data)) => Some(inline_image(kind, data)),
        None if url.starts_with("http") => {
            Some(json!({ "type": "image", "source": { "type": "url", "url": url } }))
        }
        None => None,
    }
}

pub(crate) fn inline_image(kind: &str, data: &str) -> Value {
    json!({ "type": "image", "source": { "type": "base64", "media_type": kind, "data": data } })
}

/// Returns the string at a JSON pointer; empty if there is none.
pub(crate) fn string<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the string at a JSON pointer; `None` if it is missing or empty.
pub(crate) fn filled<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    Some(string(value, pointer)).filter(|text| !text.is_empty())
}

pub(crate) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the text of a string, or of content parts that have a `text`. Any other value is returned as JSON, and `null` as an
/// empty text.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match part.get("text").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => plain(part),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}
