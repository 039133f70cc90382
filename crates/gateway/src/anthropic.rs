//! A request to Anthropic's Messages API.

mod breakpoints;

use std::borrow::Cow;
use std::ops::Range;

use bethink_model_http::{Provider, WireFormat};
use bytes::Bytes;
use serde_json::value::RawValue;

use crate::conversation::PromptPart;
use crate::envelope::{
    self, GatewayWire, Members, WireEnvelope, after_opening_brace, position, system_with,
};

#[derive(Debug)]
pub(crate) struct AnthropicWire {
    system_at: Option<Range<usize>>,
    /// Whether the request asks the provider to place a cache breakpoint.
    automatic_breakpoint: bool,
}

type AnthropicEnvelope = WireEnvelope<AnthropicWire>;

impl GatewayWire for AnthropicWire {
    const PROVIDER: Provider = Provider::Anthropic;

    fn format(_: &AnthropicEnvelope) -> WireFormat {
        WireFormat::Messages
    }

    fn read(body: &Bytes, members: &Members<'_>) -> Option<Self> {
        let system_at = members.system.map(|raw| position(body, raw.get()));
        Some(Self { system_at, automatic_breakpoint: members.cache_control.is_some() })
    }

    fn system(request: &AnthropicEnvelope) -> Option<String> {
        request.system().filter(|json| *json != "null").map(envelope::text)
    }

    fn raw_system(request: &AnthropicEnvelope) -> Bytes {
        request.wire.system_at.clone().map_or_else(Bytes::new, |at| request.body.slice(at))
    }

    fn messages(request: &AnthropicEnvelope) -> Vec<Bytes> {
        request.raw.clone()
    }

    fn edits(
        request: &AnthropicEnvelope,
        system_added: Option<&str>,
        pieces: &[PromptPart],
    ) -> Option<Vec<(Range<usize>, String)>> {
        let mut edits = vec![(request.messages_at.clone(), request.spliced_messages(pieces)?)];
        edits.extend(system_added.and_then(|added| request.spliced_system(added)));
        Some(edits)
    }
}

impl AnthropicEnvelope {
    fn system(&self) -> Option<&str> {
        let bytes = self.body.get(self.wire.system_at.clone()?)?;
        std::str::from_utf8(bytes).ok()
    }

    /// Returns the array of messages. The bytes of the client's messages are unchanged. Messages that bethink wrote come first.
    /// They are long and stay the same, so they get their own cache breakpoint at the end, if there is room for one.
    fn spliced_messages(&self, pieces: &[PromptPart]) -> Option<String> {
        let leading =
            pieces.iter().take_while(|piece| matches!(piece, PromptPart::Written(_))).count();
        let mark = leading.checked_sub(1).and_then(|last| Some((last, self.mark(pieces)?)));
        let mut messages = Vec::with_capacity(pieces.len());
        for (at, piece) in pieces.iter().enumerate() {
            let json = match piece {
                PromptPart::Client(index) => self.raw.get(*index)?,
                PromptPart::Written(written) => &written.json,
            };
            let json = std::str::from_utf8(json).ok()?;
            let marked = match &mark {
                Some((last, mark)) if *last == at => breakpoints::marked(json, mark),
                _ => None,
            };
            messages.push(marked.map_or(Cow::Borrowed(json), Cow::Owned));
        }
        Some(format!("[{}]", messages.join(",")))
    }

    /// Returns the breakpoint to add; `None` if all are in use.
    fn mark(&self, pieces: &[PromptPart]) -> Option<&'static str> {
        let client = pieces.iter().filter_map(|piece| match piece {
            PromptPart::Client(index) => self.raw.get(*index),
            PromptPart::Written(_) => None,
        });
        let before = self.tools.as_deref().map(RawValue::get).into_iter().chain(self.system());
        breakpoints::another(self.wire.automatic_breakpoint, before, client)
    }

    fn spliced_system(&self, added: &str) -> Option<(Range<usize>, String)> {
        let system = system_with(self.system().unwrap_or_default(), added)?;
        match self.wire.system_at.clone() {
            Some(at) => Some((at, system)),
            None => Some((after_opening_brace(&self.body)?, format!("\"system\":{system},"))),
        }
    }
}

#[cfg(test)]
mod tests;
