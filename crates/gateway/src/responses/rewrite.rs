//! Writes the items of a shorter prompt. Items that are shown unchanged keep their bytes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use bethink_model_http::responses::{items_of_blocks, with_output};
use bethink_transcript::json::encode_string;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::ResponsesEnvelope;
use super::convert::{ConvertedMessage, item_of};
use crate::conversation::{BlockSource, PromptPart, WrittenMessage};

/// A message of an earlier request.
#[derive(Deserialize)]
struct EarlierMessage<'a> {
    role: &'a str,
    #[serde(borrow)]
    content: &'a RawValue,
}

impl ResponsesEnvelope {
    /// Returns the client's items in this range.
    pub(super) fn items(&self, range: Range<usize>) -> Option<Vec<Cow<'_, str>>> {
        self.raw.get(range)?.iter().map(item_of).collect()
    }

    fn item(&self, index: usize) -> Option<Cow<'_, str>> {
        item_of(self.raw.get(index)?)
    }

    /// Returns the items of a message that is shown unchanged.
    pub(super) fn own_items(&self, message: usize) -> Option<Vec<Cow<'_, str>>> {
        match self.wire.earlier().get(message) {
            Some(earlier) => {
                let items = earlier_items(std::str::from_utf8(earlier).ok()?)?;
                Some(items.into_iter().map(Cow::Owned).collect())
            }
            None => self.items(self.converted(message)?.items.clone()),
        }
    }

    fn converted(&self, message: usize) -> Option<&ConvertedMessage> {
        self.wire.converted.get(message.checked_sub(self.wire.earlier().len())?)
    }

    /// Returns the items that are kept although their messages are not shown: instructions, settings, and the
    /// provider's last compaction.
    pub(super) fn kept(&self, pieces: &[PromptPart]) -> Option<Vec<Cow<'_, str>>> {
        let mut shown = HashSet::new();
        for piece in pieces {
            match piece {
                PromptPart::Client(index) => drop(shown.insert(*index)),
                PromptPart::Written(message) => {
                    let sources = message.blocks.iter().filter_map(|block| block.source);
                    shown.extend(sources.map(|source| source.message));
                }
            }
        }
        let earlier = self.wire.earlier().len();
        let mut kept: Vec<Cow<'_, str>> = Vec::new();
        for (index, message) in self.wire.earlier().iter().enumerate() {
            let text = std::str::from_utf8(message).ok()?;
            let read: EarlierMessage<'_> = serde_json::from_str(text).ok()?;
            if !shown.contains(&index) && !matches!(read.role, "user" | "assistant") {
                kept.extend(earlier_items(text)?.into_iter().map(Cow::Owned));
            }
        }
        let all = self.wire.converted.iter().enumerate();
        let hidden = all.filter(|(index, _)| !shown.contains(&(earlier + index)));
        let hidden: Vec<&ConvertedMessage> = hidden.map(|(_, message)| message).collect();
        let newest = self.wire.converted.iter().rev().find_map(|message| message.compaction);
        for message in hidden {
            let compaction = message.compaction.filter(|_| message.compaction == newest);
            for index in message.always.iter().copied().chain(compaction) {
                kept.push(self.item(index)?);
            }
        }
        Some(kept)
    }

    /// Returns the items of a message that bethink wrote.
    pub(super) fn written_items(&self, message: &WrittenMessage) -> Option<Vec<Cow<'_, str>>> {
        let role = if message.is_user { "user" } else { "assistant" };
        if message.blocks.is_empty() {
            let items = earlier_items(std::str::from_utf8(&message.json).ok()?)?;
            return Some(items.into_iter().map(Cow::Owned).collect());
        }
        let mut items = Vec::new();
        let mut loose: Vec<&str> = Vec::new();
        let runs = message.blocks.chunk_by(|a, b| {
            let (a, b) = (self.item_of_source(a.source), self.item_of_source(b.source));
            a.is_some() && a == b
        });
        for run in runs {
            let texts = run.iter().map(|block| std::str::from_utf8(&block.json));
            let texts: Vec<&str> = texts.collect::<Result<_, _>>().ok()?;
            let source = run.first().and_then(|block| block.source);
            let own = self.item_of_source(source).zip(source);
            let Some((index, source)) = own else {
                loose.extend(texts);
                continue;
            };
            let item = self.item(index)?;
            let all = self.converted(source.message)?.blocks.iter();
            let is_all = all.filter(|of| **of == index).count() == run.len();
            let is_whole = run.iter().all(|block| block.source.is_some_and(|s| s.is_whole));
            let written = match texts.as_slice() {
                _ if is_all && is_whole => item,
                // An output that cannot be shortened stays as it is.
                [one] if one.contains("\"tool_result\"") => {
                    with_output(&item, one).map_or(item, Cow::Owned)
                }
                _ => {
                    loose.extend(texts);
                    continue;
                }
            };
            items.extend(items_of_blocks(role, loose.drain(..))?.into_iter().map(Cow::Owned));
            items.push(written);
        }
        items.extend(items_of_blocks(role, loose)?.into_iter().map(Cow::Owned));
        Some(items)
    }

    /// Returns the index of the client's item that a block is from; `None` for a block of an earlier request.
    fn item_of_source(&self, source: Option<BlockSource>) -> Option<usize> {
        let source = source?;
        self.converted(source.message)?.blocks.get(source.block).copied()
    }
}

/// Returns the items of a message in the format of the Messages API.
fn earlier_items(message: &str) -> Option<Vec<String>> {
    let read: EarlierMessage<'_> = serde_json::from_str(message).ok()?;
    let content = read.content.get();
    if content.starts_with('"') {
        let role = encode_string(read.role);
        return Some(vec![format!(r#"{{"type":"message","role":{role},"content":{content}}}"#)]);
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(content).ok()?;
    items_of_blocks(read.role, blocks.iter().map(|block| block.get()))
}
