//! Counts the cache breakpoints of a request, and adds one more if there is room.

use bethink_transcript::json::with_member;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::envelope::with_element;

/// Maximum number of cache breakpoints in a request of the Messages API.
const MAX_BREAKPOINTS: usize = 4;

/// The API requires breakpoints that last an hour to come before those that last five minutes.
const HOUR: &str = r#"{"type":"ephemeral","ttl":"1h"}"#;
const MINUTES: &str = r#"{"type":"ephemeral"}"#;

#[derive(Deserialize)]
struct MarkedBlock<'a> {
    #[serde(borrow)]
    cache_control: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CacheControl<'a> {
    ttl: Option<&'a str>,
}

/// Returns a breakpoint to put between `before` (the arrays of tools and system blocks) and the client's messages. The
/// breakpoint lasts an hour if those around it do. `None` if all breakpoints are in use.
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

/// Adds to `found`, for each breakpoint in an array of blocks and in nested blocks, whether it lasts an hour.
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

/// Returns the message with a breakpoint at its end; `None` if its last block cannot have one.
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
