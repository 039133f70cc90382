//! Cache breakpoints of a request: how many it has, and where one more may stand.

use bethink_transcript::json::with_member;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::envelope::with_element;
use crate::limits::MAX_BREAKPOINTS;

/// An entry that lasts longer has to stand before one that lasts five minutes.
const HOUR: &str = r#"{"type":"ephemeral","ttl":"1h"}"#;
const MINUTES: &str = r#"{"type":"ephemeral"}"#;

#[derive(Debug)]
pub(super) struct Breakpoints {
    count: usize,
    /// The last one before the messages, and the first one among them: whether it lasts an hour.
    before: Option<bool>,
    after: Option<bool>,
}

#[derive(Deserialize)]
struct Marked<'a> {
    #[serde(borrow, default)]
    cache_control: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Mark<'a> {
    #[serde(default)]
    ttl: Option<&'a str>,
}

impl Breakpoints {
    pub(super) fn new(placed_by_provider: bool) -> Self {
        Self { count: usize::from(placed_by_provider), before: None, after: None }
    }

    /// Of an array of tools or system blocks.
    pub(super) fn before(&mut self, array: Option<&str>) {
        let mut found = Vec::new();
        array.into_iter().for_each(|array| gather(array, &mut found));
        self.count += found.len();
        self.before = found.last().copied().or(self.before);
    }

    /// Of a message.
    pub(super) fn after(&mut self, message: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Marked<'_>>(message) else { return };
        let mut found = Vec::new();
        message.content.into_iter().for_each(|content| gather(content.get(), &mut found));
        self.count += found.len();
        self.after = self.after.or(found.first().copied());
    }

    /// One between the system prompt and the client's messages, as long as its neighbours allow.
    pub(super) fn another(&self) -> Option<String> {
        if self.count >= MAX_BREAKPOINTS {
            return None;
        }
        let hour = self.before.or(self.after).unwrap_or(false);
        Some(if hour { HOUR } else { MINUTES }.to_owned())
    }
}

/// Of an array of blocks, and of the blocks in them.
fn gather(array: &str, found: &mut Vec<bool>) {
    if !array.starts_with('[') || !array.contains("\"cache_control\"") {
        return;
    }
    let blocks: Vec<Marked<'_>> = serde_json::from_str(array).unwrap_or_default();
    for block in blocks {
        block.content.into_iter().for_each(|content| gather(content.get(), found));
        if let Some(mark) = block.cache_control {
            let read = serde_json::from_str::<Mark<'_>>(mark.get());
            found.push(read.is_ok_and(|mark| mark.ttl == Some("1h")));
        }
    }
}

/// A written message that ends with a breakpoint; `None` where its last block can have none.
pub(super) fn marked(message: &str, mark: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Written<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let content = serde_json::from_str::<Written<'_>>(message).ok()?.content.get();
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
