//! What the two wire formats have in common: writing a request, and reading an answer, whole or as a stream.

use std::fmt;

use bethink_model::{ModelRequest, Reply};
use bethink_sse::SseEvent;
use bethink_transcript::TokenUsage;

use crate::trouble::ProviderTrouble;
use crate::usage::UsageTally;

/// A request to send.
#[derive(Debug)]
pub(crate) struct Parcel {
    /// Relative to the base, without a leading slash.
    pub(crate) route: &'static str,
    pub(crate) body: Vec<u8>,
    pub(crate) streamed: bool,
}

/// A wire format.
pub(crate) trait Dialect: Send + Sync + fmt::Debug {
    type Stream: Stream;

    /// Headers of every request, besides the key.
    const HEADERS: &'static [(&'static str, &'static str)] = &[];
    /// Whether requests contain thinking, so that leaving it out can fix an error about it.
    const SENDS_THINKING: bool;

    fn call(&self, request: &ModelRequest, streamed: bool) -> Result<Parcel, ProviderTrouble>;
    /// The request for a token count; `None` if the provider has none.
    fn count(&self, request: &ModelRequest) -> Option<Parcel>;
    fn read_whole(&self, json: &str) -> Result<Reply, ProviderTrouble>;
    /// Whether the event says that nothing important follows.
    fn is_last(&self, event: &SseEvent) -> bool;
}

/// Assembles an answer from its events.
pub(crate) trait Stream: Default + fmt::Debug + Send {
    fn take(&mut self, event: &SseEvent) -> Result<DeltaTaken, ProviderTrouble>;
    /// Called after the last event, or when the stream ends without one: the dialect decides whether the
    /// answer is complete.
    fn end(self) -> Result<Reply, ProviderTrouble>;
    /// What is known before the end.
    fn begun(&self) -> Begun;
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DeltaTaken {
    More,
    /// Nothing important follows.
    Last,
}

/// What is known about an answer that was cut off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    pub id: String,
    pub model: String,
    /// `None` if a figure is missing or implausible.
    pub usage: Option<TokenUsage>,
}

impl Begun {
    pub(crate) fn new(id: String, model: String, tally: UsageTally) -> Self {
        let (usage, doubtful) = tally.end();
        Self { id, model, usage: (!doubtful).then_some(usage) }
    }
}
