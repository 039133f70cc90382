//! Cache breakpoints of a request: how many it has, and where one more may be added.

use bethink_transcript::json::with_member;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::envelope::with_element;

/// Breakpoints that one request of the Messages API may have.
const MAX_BREAKPOINTS: usize = 4;

/// An entry that lasts longer must come before one that lasts five minutes.
const HOUR: &str = r#"{"type":"ephemeral","ttl":"1h"}"#;
const MINUTES: &str = r#"{"type":"ephemeral"}"#;

#[derive(Deserialize)]
struct MarkedBlock<'a> {
    #[serde(borrow, default)]
    cache_control: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CacheControl<'a> {
    #[serde(default)]
    ttl: Option<&'a str>,
}

/// One between `before`, the arrays of tools and system blocks, and the client's messages, as long as its neighbours
/// allow; `None` where all are in use.
pub(super) fn another<'a>(
    placed_by_provider: bool,
    before: impl Iterator<Item = &'a str>,
    messages: impl Iterator<Item = &'a Bytes>,
) -> Option<&'static str> {
    let (mut above, mut below) = (Vec::new(), Vec::new());
    before.for_each(|array| gather(array, &mut above));
    for message in messages {
        let content =
            serde_json::from_slice::<MarkedBlock<'_>>(message).ok().and_then(|m| m.content);
        content.into_iter().for_each(|content| gather(content.get(), &mut below));
    }
    if usize::from(placed_by_provider) + above.len() + below.len() >= MAX_BREAKPOINTS {
        return None;
    }
    let is_hour = above.last().or(below.first()).copied().unwrap_or(false);
    Some(if is_hour { HOUR } else { MINUTES })
}

/// Whether each breakpoint of an array of blocks, and of the blocks in them, lasts an hour.
fn gather(array: &str, found: &mut Vec<bool>) {
    if !array.starts_with('[') || !array.contains("\"cache_control\"") {
        return;
    }
    let blocks: Vec<MarkedBlock<'_>> = serde_json::from_str(array).unwrap_or_default();
    for block in blocks {
        block.content.into_iter().for_each(|content| gather(content.get(), found));
        if let Some(mark) = block.cache_control {
            let read = serde_json::from_str::<CacheControl<'_>>(mark.get());
            found.push(read.is_ok_and(|mark| mark.ttl == Some("1h")));
        }
    }
}

/// A written message that ends with a breakpoint; `None` where its last block can have none.
pub(super) fn marked(message: &str, mark: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct AssistantContent<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let content = serde_json::from_str::<AssistantContent<'_>>(message).ok()?.content.get();
    let marked = if content.starts_with('"') {
        format!(r#"[{{"type":"text","text":{content},"cache_control":{mark}}}]"#)
    } else {
        marked_blocks(content, mark)?
    };
    String::from_utf8(with_member(message, "content", &marked)?.to_vec()).ok()
}

fn marked_blocks(content: &str, mark: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Typed<'a> {
        #[serde(rename = "type")]
        kind: &'a str,
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(content).ok()?;
    let (last, rest) = blocks.split_last()?;
    let kind = serde_json::from_str::<Typed<'_>>(last.get()).ok()?.kind;
    if kind.contains("thinking") {
        return None;
    }
    let last = String::from_utf8(with_member(last.get(), "cache_control", mark)?.to_vec()).ok()?;
    let rest: Vec<&str> = rest.iter().map(|raw| raw.get()).collect();
    with_element(&format!("[{}]", rest.join(",")), &last)
}
