//! Reading a message object: what structure needs is parsed, everything else keeps its bytes.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ids::{IdError, ToolUseId};
use crate::json;

use super::{Block, BlockKind, MAX_BLOCKS, ParseError, Role, Usage};

#[derive(Deserialize)]
pub(super) struct Head<'a> {
    #[serde(borrow)]
    pub(super) role: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) assistant_message_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) model: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

pub(super) fn explain(text: &str, error: &serde_json::Error) -> ParseError {
    let first = text.trim_start().chars().next();
    match first {
        Some('{') => ParseError::at("", format!("not a message object: {error}")),
        Some(_) => ParseError::at("", "a message is an object with `role` and `content`"),
        None => ParseError::at("", "empty: a message is an object with `role` and `content`"),
    }
}

pub(super) fn role_of(raw: Option<&RawValue>) -> Result<Role, ParseError> {
    match raw.map(RawValue::get) {
        Some(r#""user""#) => Ok(Role::User),
        Some(r#""assistant""#) => Ok(Role::Assistant),
        Some(other) => {
            let shown: String = other.chars().take(40).collect();
            Err(ParseError::at(
                "role",
                format!("{shown} is not a role: use \"user\" or \"assistant\""),
            ))
        }
        None => Err(ParseError::at("role", "missing: \"user\" or \"assistant\"")),
    }
}

pub(super) fn text_of<'a>(field: &str, raw: &'a RawValue) -> Result<Cow<'a, str>, ParseError> {
    if raw.get().starts_with('"') {
        Ok(json::decode_string(raw.get()))
    } else {
        Err(ParseError::at(field, "must be a string"))
    }
}

pub(super) fn id_of<T>(
    field: &str,
    raw: &RawValue,
    make: impl Fn(&str) -> Result<T, IdError>,
) -> Result<T, ParseError> {
    make(&text_of(field, raw)?).map_err(|e| ParseError::at(field, e.to_string()))
}

pub(super) fn usage_of(raw: Option<&RawValue>) -> Result<Option<Usage>, ParseError> {
    // Every figure is read on its own: providers send null and fractions where a figure is unknown.
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else { return Ok(None) };
    let value: serde_json::Value = serde_json::from_str(raw.get())
        .map_err(|e| ParseError::at("usage", format!("not readable: {e}")))?;
    let Some(object) = value.as_object() else {
        return Err(ParseError::at("usage", "must be an object of token counts"));
    };
    let figure = |key: &str| match object.get(key) {
        None | Some(serde_json::Value::Null) => Ok(0),
        Some(value) => value.as_u64().filter(|n| *n <= u64::from(u32::MAX)).ok_or_else(|| {
            ParseError::at(
                format!("usage.{key}"),
                format!("must be a whole number from 0 to {}", u32::MAX),
            )
        }),
    };
    Ok(Some(Usage {
        input_tokens: figure("input_tokens")?,
        output_tokens: figure("output_tokens")?,
        cache_creation_input_tokens: figure("cache_creation_input_tokens")?,
        cache_read_input_tokens: figure("cache_read_input_tokens")?,
    }))
}

pub(super) fn blocks_of(raw: &Bytes, content: &RawValue) -> Result<Vec<Block>, ParseError> {
    let text = content.get();
    match text.as_bytes().first() {
        Some(b'"') => {
            let json = Bytes::from(format!(r#"{{"type":"text","text":{text}}}"#));
            let mended = json::without_lone_surrogates(text).and_then(|text| {
                json::with_member(r#"{"type":"text"}"#, "text", std::str::from_utf8(&text).ok()?)
            });
            Ok(vec![Block { mended, ..Block::shown(json, BlockKind::Text) }])
        }
        Some(b'[') => {
            let values: Vec<&RawValue> = serde_json::from_str(text)
                .map_err(|e| ParseError::at("content", format!("not an array of blocks: {e}")))?;
            if values.len() > MAX_BLOCKS {
                return Err(ParseError::at(
                    "content",
                    format!("at most {MAX_BLOCKS} blocks, this one has {}", values.len()),
                ));
            }
            values.iter().enumerate().map(|(i, value)| block_of(raw, i, value)).collect()
        }
        _ => Err(ParseError::at("content", "must be a string or an array of blocks")),
    }
}

#[derive(Deserialize)]
struct BlockHead<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: Option<&'a RawValue>,
    #[serde(borrow)]
    is_error: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_control: Option<&'a RawValue>,
}

fn block_of(raw: &Bytes, index: usize, value: &RawValue) -> Result<Block, ParseError> {
    let at = |member: &str| format!("content[{index}].{member}");
    let text = value.get();
    if !text.starts_with('{') {
        return Err(ParseError::at(
            format!("content[{index}]"),
            "a block is an object with a `type`",
        ));
    }
    let head: BlockHead<'_> = serde_json::from_str(text)
        .map_err(|e| ParseError::at(format!("content[{index}]"), format!("not a block: {e}")))?;
    let need =
        |member: &str, raw: Option<&RawValue>, make: fn(&str) -> Result<ToolUseId, IdError>| {
            match raw {
                None => Err(ParseError::at(at(member), "missing")),
                Some(raw) => id_of(&at(member), raw, make),
            }
        };
    let Some(kind) = head.kind else { return Err(ParseError::at(at("type"), "missing")) };
    let mut media = 0;
    let kind = match &*text_of(&at("type"), kind)? {
        "text" => {
            match head.text {
                Some(raw) => drop(text_of(&at("text"), raw)?),
                None => return Err(ParseError::at(at("text"), "missing")),
            }
            BlockKind::Text
        }
        "tool_use" => BlockKind::ToolUse {
            id: need("id", head.id, ToolUseId::new)?,
            name: match head.name {
                Some(raw) => text_of(&at("name"), raw)?.as_ref().into(),
                None => return Err(ParseError::at(at("name"), "missing")),
            },
        },
        "tool_result" => {
            media = head.content.map_or(0, nested_media);
            BlockKind::ToolResult {
                tool_use_id: need("tool_use_id", head.tool_use_id, ToolUseId::new)?,
                is_error: head.is_error.is_some_and(|raw| raw.get() == "true"),
            }
        }
        "thinking" => BlockKind::Thinking,
        "redacted_thinking" => BlockKind::RedactedThinking,
        "image" => {
            media = 1;
            BlockKind::Image
        }
        "document" => {
            media = 1;
            BlockKind::Document
        }
        other => BlockKind::Other(other.into()),
    };
    let has_cache_control = head.cache_control.is_some();
    Ok(Block {
        json: raw.slice_ref(text.as_bytes()),
        kind,
        media,
        has_cache_control,
        mended: json::without_lone_surrogates(text),
    })
}

fn nested_media(content: &RawValue) -> u16 {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "type")]
        kind: Option<Cow<'a, str>>,
    }
    if !content.get().starts_with('[') {
        return 0;
    }
    let kinds: Vec<Kind<'_>> = serde_json::from_str(content.get()).unwrap_or_default();
    let media =
        kinds.iter().filter(|k| matches!(k.kind.as_deref(), Some("image" | "document"))).count();
    u16::try_from(media).unwrap_or(u16::MAX)
}
