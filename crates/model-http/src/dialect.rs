//! The interface of a wire format: writes requests, and reads whole or streamed answers.

use std::fmt;

use bethink_model::{ModelRequest, Reply, Stop};
use bethink_sse::SseEvent;
use bethink_transcript::{Block, TokenUsage};
use serde::Deserialize;

use crate::trouble::{ProviderRefusal, ProviderTrouble};
use crate::usage::UsageTally;

/// A request to send.
#[derive(Debug)]
pub(crate) struct WireRequest {
    /// Path relative to the base, without a leading slash.
    pub(crate) route: &'static str,
    pub(crate) body: Vec<u8>,
    pub(crate) streamed: bool,
    /// Value of the `anthropic-beta` header; empty for none.
    pub(crate) betas: String,
}

/// The format of the answers in a wire format.
pub(crate) trait AnswerFormat: Send + Sync + fmt::Debug {
    type Stream: Stream;
    /// Whether every complete stream has an end event, so that a stream without it was cut off.
    const HAS_END_EVENT: bool = true;

    /// Starts reading a streamed answer.
    fn begin(&self) -> Self::Stream {
        Self::Stream::default()
    }

    fn read_whole(&self, json: &str) -> Result<Reply, ProviderTrouble>;
    /// Returns whether no later event matters.
    fn is_last(&self, event: &SseEvent) -> bool;
}

/// A wire format in which bethink sends its own calls.
pub(crate) trait Dialect: AnswerFormat {
    /// Headers of every request, apart from the key.
    const HEADERS: &'static [(&'static str, &'static str)] = &[];
    /// Whether requests contain thinking. Only if they do can an error about thinking be fixed by leaving the thinking out.
    const SENDS_THINKING: bool;

    fn call(&self, request: &ModelRequest, streamed: bool) -> Result<WireRequest, ProviderTrouble>;
    /// Returns the request for a token count; `None` if the provider does not count tokens.
    fn count(&self, request: &ModelRequest) -> Option<WireRequest>;
}

/// Assembles an answer from its events.
pub(crate) trait Stream: Default + fmt::Debug + Send {
    fn take(&mut self, event: &SseEvent) -> Result<DeltaTaken, ProviderTrouble>;
    /// Finishes after the last event, or when the stream ends without one. Fails if the answer is incomplete.
    fn end(self) -> Result<Reply, ProviderTrouble>;
    /// Returns what is known about the answer so far, apart from its content.
    fn meta(&self) -> &ReplyMeta;
}

/// Parses an answer, or an event of one, unless it is the provider's error. `what` names it if it cannot be read.
pub(crate) fn read_answer<'a, T: Deserialize<'a>>(
    json: &'a str,
    what: &str,
) -> Result<T, ProviderTrouble> {
    if let Some(refusal) = ProviderRefusal::in_answer(json) {
        return Err(ProviderTrouble::Refused(refusal));
    }
    serde_json::from_str(json).map_err(|e| ProviderTrouble::no_json(what, &e))
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DeltaTaken {
    More,
    /// No later event matters.
    Last,
}

/// The parts of an answer apart from its content, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct ReplyMeta {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) tally: UsageTally,
}

impl ReplyMeta {
    /// Keeps the first id and the first model that are not empty.
    pub(crate) fn take_names(&mut self, id: Option<&str>, model: Option<&str>) {
        for (into, found) in [(&mut self.id, id), (&mut self.model, model)] {
            if into.is_empty() {
                into.push_str(found.unwrap_or_default());
            }
        }
    }

    pub(crate) fn reply(self, content: Vec<Block>, stop: Stop) -> Reply {
        let (usage, usage_doubtful) = self.tally.end();
        Reply { id: self.id, model: self.model, content, stop, usage, usage_doubtful }
    }

    pub(crate) fn partial(&self) -> PartialReply {
        let (usage, doubtful) = self.tally.end();
        let (id, model) = (self.id.clone(), self.model.clone());
        PartialReply { id, model, usage: (!doubtful).then_some(usage) }
    }
}

/// The known parts of an answer that was cut off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartialReply {
    pub id: String,
    pub model: String,
    /// `None` if a figure is missing or implausible.
    pub usage: Option<TokenUsage>,
}
