//! A request of the Messages API.

mod breakpoints;

use std::borrow::Cow;
use std::ops::Range;

use bethink_daemon::{Piece, Told};
use bethink_transcript::json::encode_string;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::asker::{Asker, Named};
use crate::envelope::{self, Envelope, array_place, opening, place, splice, there, with_element};
use crate::wire::Wire;
use breakpoints::Breakpoints;

#[derive(Debug)]
pub(crate) struct Anthropic {
    body: Bytes,
    model: String,
    max_output: Option<u64>,
    messages: Vec<Bytes>,
    messages_at: Range<usize>,
    system_at: Option<Range<usize>>,
    tools: Option<Box<RawValue>>,
    metadata: Option<Box<RawValue>>,
    /// The request asks for a breakpoint that the provider places.
    marks_itself: bool,
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "there")]
    system: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    max_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cache_control: Option<&'a RawValue>,
}

impl Envelope for Anthropic {
    const WIRE: Wire = Wire::Anthropic;

    fn read(body: &Bytes) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let members: Members<'_> = serde_json::from_str(text).ok()?;
        let messages_at = array_place(body, &members.messages)?;
        let slice = |raw: &&RawValue| body.slice(place(body, raw.get()));
        Some(Self {
            model: members.model.unwrap_or_default().into_owned(),
            max_output: members.max_tokens.and_then(|raw| raw.get().parse().ok()),
            messages: members.messages.iter().map(slice).collect(),
            messages_at,
            system_at: members.system.map(|raw| place(body, raw.get())),
            tools: members.tools.map(RawValue::to_owned),
            metadata: members.metadata.map(RawValue::to_owned),
            marks_itself: members.cache_control.is_some(),
            body: body.clone(),
        })
    }

    fn named(&self) -> Named<'_> {
        Named { metadata: self.metadata.as_deref(), prompt_cache_key: None }
    }

    fn told(&self, asker: Asker) -> Told {
        Told {
            entrance: Wire::Anthropic.name(),
            // As clients of that window write it themselves.
            model: if asker.wide { format!("{}[1m]", self.model) } else { self.model.clone() },
            max_output: self.max_output,
            session: asker.session,
            client: asker.client,
            project_dir: asker.project_dir,
            system: self.system().filter(|json| *json != "null").map(envelope::text),
            tools: self.tools.clone(),
            messages: self.messages.clone(),
            body_bytes: self.body.len(),
            inject: asker.inject,
        }
    }

    fn changed(&self, system_added: Option<&str>, pieces: &[Piece]) -> Option<Bytes> {
        let mut edits = vec![(self.messages_at.clone(), self.spliced_messages(pieces)?)];
        edits.extend(system_added.and_then(|added| self.spliced_system(added)));
        edits.sort_by_key(|(range, _)| range.start);
        splice(&self.body, &edits)
    }
}

impl Anthropic {
    fn system(&self) -> Option<&str> {
        let bytes = self.body.get(self.system_at.clone()?)?;
        std::str::from_utf8(bytes).ok()
    }

    /// The client's messages keep their bytes. What was written for them stands before them, and ends with a
    /// breakpoint of its own where the request has room for one: it is as long as a session, and stays.
    fn spliced_messages(&self, pieces: &[Piece]) -> Option<String> {
        let leading = pieces.iter().take_while(|piece| matches!(piece, Piece::Written(_))).count();
        let mark = leading.checked_sub(1).and_then(|last| Some((last, self.mark(pieces)?)));
        let mut out = String::with_capacity(self.body.len());
        out.push('[');
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            let json = match piece {
                Piece::Client(index) => self.messages.get(*index)?,
                Piece::Written(json) => json,
            };
            let json = std::str::from_utf8(json).ok()?;
            let marked = match &mark {
                Some((last, mark)) if *last == at => breakpoints::marked(json, mark),
                _ => None,
            };
            out.push_str(marked.as_deref().unwrap_or(json));
        }
        out.push(']');
        Some(out)
    }

    /// The breakpoint to add: none where all are in use.
    fn mark(&self, pieces: &[Piece]) -> Option<String> {
        let client = pieces.iter().filter_map(|piece| match piece {
            Piece::Client(index) => self.messages.get(*index),
            Piece::Written(_) => None,
        });
        let mut found = Breakpoints::new(self.marks_itself);
        found.before(self.tools.as_deref().map(RawValue::get));
        found.before(self.system());
        client.for_each(|message| found.after(message));
        found.another()
    }

    fn spliced_system(&self, added: &str) -> Option<(Range<usize>, String)> {
        let block = || format!(r#"{{"type":"text","text":{}}}"#, encode_string(added));
        match (self.system_at.clone(), self.system()) {
            (Some(at), Some(text)) if text.starts_with('"') => {
                Some((at, envelope::longer(text, added)))
            }
            (Some(at), Some(blocks)) if blocks.starts_with('[') => {
                Some((at, with_element(blocks, &block())?))
            }
            (Some(at), Some("null")) => Some((at, format!("[{}]", block()))),
            (None, _) => Some((opening(&self.body)?, format!("\"system\":[{}],", block()))),
            // The provider will say what is wrong with it.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
