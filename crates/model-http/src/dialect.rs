//! What the two wire formats have in common: a request is written, an answer is read, whole or as a stream.

use std::fmt;

use bethink_model::{ModelRequest, Reply};
use bethink_sse::SseEvent;
use bethink_transcript::TokenUsage;

use crate::trouble::ProviderTrouble;
use crate::usage::UsageTally;

/// What goes out.
#[derive(Debug)]
pub(crate) struct Parcel {
    /// Below the base, without a slash before it.
    pub(crate) route: &'static str,
    pub(crate) body: Vec<u8>,
    pub(crate) streamed: bool,
}

/// A wire format.
pub(crate) trait Dialect: Send + Sync + fmt::Debug {
    type Stream: Stream;

    /// Headers of every request, beside the key.
    const HEADERS: &'static [(&'static str, &'static str)] = &[];
    /// A complaint about thinking can be met by leaving it out.
    const SENDS_THINKING: bool;

    fn call(&self, request: &ModelRequest, streamed: bool) -> Result<Parcel, ProviderTrouble>;
    /// The question for a count; `None` where none is offered.
    fn count(&self, request: &ModelRequest) -> Option<Parcel>;
    fn read_whole(&self, json: &str) -> Result<Reply, ProviderTrouble>;
    /// The event says that nothing of worth follows, whatever came before it.
    fn is_last(&self, event: &SseEvent) -> bool;
}

/// Puts an answer together from its events.
pub(crate) trait Stream: Default + fmt::Debug + Send {
    fn take(&mut self, event: &SseEvent) -> Result<DeltaTaken, ProviderTrouble>;
    /// After the last event, also where the stream just ended: whether that is an answer is for the
    /// dialect to say.
    fn end(self) -> Result<Reply, ProviderTrouble>;
    /// What is known before the end.
    fn begun(&self) -> Begun;
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DeltaTaken {
    More,
    /// Nothing of worth follows.
    Last,
}

/// What is known of an answer that broke off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    pub id: String,
    pub model: String,
    /// `None` where a figure is missing or absurd.
    pub usage: Option<TokenUsage>,
}

impl Begun {
    pub(crate) fn new(id: String, model: String, tally: UsageTally) -> Self {
        let (usage, doubtful) = tally.end();
        Self { id, model, usage: (!doubtful).then_some(usage) }
    }
}
