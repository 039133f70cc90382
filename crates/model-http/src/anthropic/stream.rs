//! Assembles an answer from the events of a stream.

use std::collections::{BTreeMap, HashMap};

use bethink_model::Reply;
use bethink_transcript::json::with_member;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{WholeMessage, stop, text};
use crate::answer::{self, Literal};
use crate::dialect::{DeltaTaken, ReplyMeta, Stream, read_answer};
use crate::trouble::{ProviderRefusal, ProviderTrouble};
use bethink_sse::SseEvent;

/// The kinds of delta that extend a string, each with the name that the string has in both the block and the delta.
const GROWING: [(&str, &str); 4] = [
    ("text_delta", "text"),
    ("thinking_delta", "thinking"),
    ("signature_delta", "signature"),
    ("compaction_delta", "content"),
];

#[derive(Debug, Default)]
pub(crate) struct Events {
    started: bool,
    meta: ReplyMeta,
    parts: BTreeMap<u64, GrowingBlock>,
    /// The newest stop reason, as a JSON literal.
    stop_reason: Option<Box<RawValue>>,
    stopped: bool,
}

/// A block that is still being received.
#[derive(Debug)]
struct GrowingBlock {
    /// The block from its start event, unknown members included.
    start: Box<RawValue>,
    grown: [Literal; GROWING.len()],
    input: Literal,
    citations: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct StreamLine {
    #[serde(rename = "type")]
    kind: String,
    message: Option<WholeMessage>,
    index: Option<u64>,
    content_block: Option<Box<RawValue>>,
    delta: Option<Box<RawValue>>,
    usage: Option<Box<RawValue>>,
}

/// The members of an object and their JSON values.
type Members<'a> = HashMap<String, &'a RawValue>;

impl Stream for Events {
    fn take(&mut self, event: &SseEvent) -> Result<DeltaTaken, ProviderTrouble> {
        // Checked before parsing, because a ping need not be JSON.
        if event.kind == "ping" {
            return Ok(DeltaTaken::More);
        }
        let said: StreamLine = read_answer(&event.data, "an event in the answer's stream")?;
        match said.kind.as_str() {
            "message_start" => self.start(said.message),
            "content_block_start" => self.open(said.index, said.content_block),
            "content_block_delta" => self.grow(said.index, said.delta.as_deref()),
            "message_delta" => self.change(said.delta.as_deref(), said.usage.as_deref()),
            "message_stop" => {
                self.stopped = true;
                return Ok(DeltaTaken::Last);
            }
            "error" => {
                Err(ProviderTrouble::Refused(ProviderRefusal::of_body(event.data.as_bytes())))
            }
            _ => Ok(()),
        }?;
        Ok(DeltaTaken::More)
    }

    /// Returns the answer, which is complete only after `message_stop`.
    fn end(self) -> Result<Reply, ProviderTrouble> {
        if !self.started {
            return Err(ProviderTrouble::broken("the stream ended before the message began"));
        }
        if !self.stopped {
            return Err(ProviderTrouble::broken(
                "the stream ended before the message was complete",
            ));
        }
        let blocks = self.parts.values().map(GrowingBlock::json).collect::<Result<Vec<_>, _>>()?;
        let content = answer::blocks(&format!("[{}]", blocks.join(",")))?;
        Ok(self.meta.reply(content, stop(self.stop_reason.as_deref())?))
    }

    fn meta(&self) -> &ReplyMeta {
        &self.meta
    }
}

impl Events {
    fn start(&mut self, message: Option<WholeMessage>) -> Result<(), ProviderTrouble> {
        let message =
            message.ok_or_else(|| ProviderTrouble::broken("message_start has no message"))?;
        if self.started {
            return Err(ProviderTrouble::broken("the stream has a second message_start"));
        }
        message.fill(&mut self.meta);
        self.started = true;
        Ok(())
    }

    fn open(
        &mut self,
        index: Option<u64>,
        block: Option<Box<RawValue>>,
    ) -> Result<(), ProviderTrouble> {
        let (Some(index), Some(block)) = (index, block) else {
            return Err(ProviderTrouble::broken("content_block_start has no index or no block"));
        };
        if !self.started || self.parts.contains_key(&index) {
            return Err(ProviderTrouble::broken(format!("block {index} is out of order")));
        }
        let part = GrowingBlock {
            start: block,
            grown: Default::default(),
            input: Literal::default(),
            citations: Vec::new(),
        };
        self.parts.insert(index, part);
        Ok(())
    }

    fn grow(
        &mut self,
        index: Option<u64>,
        delta: Option<&RawValue>,
    ) -> Result<(), ProviderTrouble> {
        let delta = read_delta(delta)?;
        let part = index.and_then(|index| self.parts.get_mut(&index));
        part.ok_or_else(|| ProviderTrouble::broken("a delta has no matching block"))?.grow(&delta)
    }

    fn change(
        &mut self,
        delta: Option<&RawValue>,
        usage: Option<&RawValue>,
    ) -> Result<(), ProviderTrouble> {
        let delta = read_delta(delta)?;
        if let Some(reason) = delta.get("stop_reason").filter(|raw| raw.get() != "null") {
            self.stop_reason = Some((*reason).to_owned());
        }
        self.meta.tally.take_anthropic(usage);
        Ok(())
    }
}

fn read_delta(delta: Option<&RawValue>) -> Result<Members<'_>, ProviderTrouble> {
    let delta = delta
        .ok_or_else(|| ProviderTrouble::broken("an event in the answer's stream has no delta"))?;
    serde_json::from_str(delta.get())
        .map_err(|e| ProviderTrouble::no_json("a delta in the answer's stream", &e))
}

impl GrowingBlock {
    fn grow(&mut self, delta: &Members<'_>) -> Result<(), ProviderTrouble> {
        let kind = text(delta.get("type").copied());
        let into = GROWING.iter().zip(&mut self.grown).find(|((known, _), _)| *known == kind);
        let (member, literal) = match (into, kind.as_str()) {
            (Some(((_, member), literal)), _) => (*member, literal),
            (None, "input_json_delta") => ("partial_json", &mut self.input),
            (None, "citations_delta") => {
                self.citations.extend(delta.get("citation").map(|raw| (*raw).to_owned()));
                return Ok(());
            }
            _ => return Ok(()),
        };
        let grown = delta.get(member).and_then(|piece| literal.push(piece));
        grown.ok_or_else(|| ProviderTrouble::broken(format!("a delta of type {kind} has no text")))
    }

    /// Returns the block with all deltas applied.
    fn json(&self) -> Result<String, ProviderTrouble> {
        let mut json = self.start.get().to_owned();
        for ((_, member), grown) in GROWING.iter().zip(&self.grown) {
            if !grown.is_empty() {
                let whole = self.joined(member, grown)?;
                json = with(&json, member, &whole)?;
            }
        }
        if !self.input.is_empty() {
            json = with(&json, "input", &answer::input(&self.input.text()))?;
        }
        if !self.citations.is_empty() {
            let all: Vec<&str> = self.citations.iter().map(|raw| raw.get()).collect();
            json = with(&json, "citations", &format!("[{}]", all.join(",")))?;
        }
        Ok(json)
    }

    /// Returns the text from the start event, which is almost always empty, followed by the text received since.
    fn joined(&self, member: &str, grown: &Literal) -> Result<String, ProviderTrouble> {
        let start: Members<'_> = serde_json::from_str(self.start.get())
            .map_err(|e| ProviderTrouble::no_json("a block", &e))?;
        let grown = grown.json();
        let before = start.get(member).map_or("", |raw| raw.get());
        match (before.strip_suffix('"'), grown.strip_prefix('"')) {
            (Some(before), Some(after)) if before.starts_with('"') => {
                Ok(format!("{before}{after}"))
            }
            _ => Ok(grown),
        }
    }
}

fn with(json: &str, member: &str, value: &str) -> Result<String, ProviderTrouble> {
    let joined = with_member(json, member, value).map(|bytes| bytes.to_vec());
    joined
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| ProviderTrouble::broken("a block in the answer is not an object"))
}

#[cfg(test)]
mod tests;
