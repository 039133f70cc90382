//! An answer put together from the events of a stream.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use bethink_model::Reply;
use bethink_transcript::json::with_member;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Whole, stop, text};
use crate::answer::{self, Literal};
use crate::call::{Stream, Taken};
use crate::tee::Begun;
use crate::trouble::{Refusal, Trouble};
use crate::usage::Tally;
use bethink_sse::Event;

/// Deltas that make a string longer: their type, and the member of the block and of the delta.
const GROWING: [(&str, &str); 4] = [
    ("text_delta", "text"),
    ("thinking_delta", "thinking"),
    ("signature_delta", "signature"),
    ("compaction_delta", "content"),
];

#[derive(Debug, Default)]
pub(crate) struct Events {
    started: Option<(String, String)>,
    parts: BTreeMap<u64, Part>,
    /// The JSON literal of the last one told.
    stop_reason: Option<Box<RawValue>>,
    tally: Tally,
    stopped: bool,
}

/// A block while it grows.
#[derive(Debug)]
struct Part {
    /// The block as it was started, with members that nobody knows.
    start: Box<RawValue>,
    grown: [Literal; GROWING.len()],
    input: Literal,
    citations: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    message: Option<Whole<'a>>,
    index: Option<u64>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    signature: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    partial_json: Option<&'a RawValue>,
    #[serde(borrow)]
    citation: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<&'a RawValue>,
}

impl Stream for Events {
    fn take<'a>(&mut self, event: &'a Event) -> Result<Taken<'a>, Trouble> {
        // Kinds that will be invented need not be readable.
        if event.kind == "ping" {
            return Ok(Taken::Other);
        }
        if let Some(refusal) = Refusal::in_answer(&event.data) {
            return Err(Trouble::Refused(refusal));
        }
        let said: Said<'a> = serde_json::from_str(&event.data)
            .map_err(|e| Trouble::no_json("an event of the answer", &e))?;
        match &*said.kind {
            "message_start" => self.start(said.message),
            "content_block_start" => self.open(said.index, said.content_block),
            "content_block_delta" => {
                return self.grow(said.index, said.delta);
            }
            "message_delta" => self.change(said.delta, said.usage),
            "message_stop" => {
                self.stopped = true;
                return Ok(Taken::Last);
            }
            "error" => Err(Trouble::Refused(Refusal::of_body(event.data.as_bytes()))),
            _ => Ok(()),
        }?;
        Ok(Taken::Other)
    }

    /// Only `message_stop` says that nothing is missing.
    fn end(self) -> Result<Reply, Trouble> {
        let Some((id, model)) = self.started else {
            return Err(Trouble::broken("the stream ended before its message began"));
        };
        if !self.stopped {
            return Err(Trouble::broken("the stream ended before its message did"));
        }
        let blocks = self.parts.values().map(Part::json).collect::<Result<Vec<_>, _>>()?;
        let (usage, usage_doubtful) = self.tally.end();
        Ok(Reply {
            id,
            model,
            content: answer::blocks(&format!("[{}]", blocks.join(",")))?,
            stop: stop(self.stop_reason.as_deref())?,
            usage,
            usage_doubtful,
        })
    }

    fn begun(&self) -> Begun {
        let (id, model) = self.started.clone().unwrap_or_default();
        Begun::new(id, model, self.tally)
    }
}

impl Events {
    fn start(&mut self, message: Option<Whole<'_>>) -> Result<(), Trouble> {
        let message = message.ok_or_else(|| Trouble::broken("message_start has no message"))?;
        if self.started.is_some() {
            return Err(Trouble::broken("a second message_start"));
        }
        self.tally.take_anthropic(message.usage);
        self.started = Some((text(message.id), text(message.model)));
        Ok(())
    }

    fn open(&mut self, index: Option<u64>, block: Option<&RawValue>) -> Result<(), Trouble> {
        let (Some(index), Some(block)) = (index, block) else {
            return Err(Trouble::broken("content_block_start has no index or no block"));
        };
        if self.started.is_none() || self.parts.contains_key(&index) {
            return Err(Trouble::broken(format!("block {index} begins out of order")));
        }
        let part = Part {
            start: block.to_owned(),
            grown: Default::default(),
            input: Literal::default(),
            citations: Vec::new(),
        };
        self.parts.insert(index, part);
        Ok(())
    }

    fn grow<'a>(
        &mut self,
        index: Option<u64>,
        delta: Option<&'a RawValue>,
    ) -> Result<Taken<'a>, Trouble> {
        let delta = read_delta(delta)?;
        let part = index.and_then(|index| self.parts.get_mut(&index));
        let part = part.ok_or_else(|| Trouble::broken("a delta belongs to no block"))?;
        part.grow(&delta)
    }

    fn change(
        &mut self,
        delta: Option<&RawValue>,
        usage: Option<&RawValue>,
    ) -> Result<(), Trouble> {
        if let Some(reason) = read_delta(delta)?.stop_reason.filter(|raw| raw.get() != "null") {
            self.stop_reason = Some(reason.to_owned());
        }
        self.tally.take_anthropic(usage);
        Ok(())
    }
}

fn read_delta(delta: Option<&RawValue>) -> Result<Delta<'_>, Trouble> {
    let delta = delta.ok_or_else(|| Trouble::broken("an event of the answer has no delta"))?;
    serde_json::from_str(delta.get()).map_err(|e| Trouble::no_json("a delta of the answer", &e))
}

impl Part {
    fn grow<'a>(&mut self, delta: &Delta<'a>) -> Result<Taken<'a>, Trouble> {
        let wrong = || Trouble::broken(format!("a {} has no text", delta.kind));
        if delta.kind == "input_json_delta" {
            delta.partial_json.and_then(|piece| self.input.push(piece)).ok_or_else(wrong)?;
        } else if delta.kind == "citations_delta" {
            self.citations.extend(delta.citation.map(RawValue::to_owned));
        } else if let Some(at) = GROWING.iter().position(|(kind, _)| *kind == delta.kind) {
            let pieces = [delta.text, delta.thinking, delta.signature, delta.content];
            let piece = pieces.get(at).copied().flatten();
            let grown = self.grown.get_mut(at);
            let text = piece.zip(grown).and_then(|(piece, grown)| grown.push(piece));
            let text = text.ok_or_else(wrong)?;
            return Ok(if delta.kind == "text_delta" { Taken::Text(text) } else { Taken::Other });
        }
        Ok(Taken::Other)
    }

    /// The block as it was started, with what came since in its place.
    fn json(&self) -> Result<String, Trouble> {
        let mut json = self.start.get().to_owned();
        for ((_, member), grown) in GROWING.iter().zip(&self.grown) {
            if !grown.is_empty() {
                let whole = self.begun(member, grown)?;
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

    /// What the block was started with stands before what grew; it is almost always empty.
    fn begun(&self, member: &str, grown: &Literal) -> Result<String, Trouble> {
        let start: HashMap<String, &RawValue> =
            serde_json::from_str(self.start.get()).map_err(|e| Trouble::no_json("a block", &e))?;
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

fn with(json: &str, member: &str, value: &str) -> Result<String, Trouble> {
    let joined = with_member(json, member, value).map(|bytes| bytes.to_vec());
    joined
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| Trouble::broken("a block of the answer is no object"))
}

#[cfg(test)]
mod tests;
