//! What an answer is heard under, and what a refused prompt is tried again from.

use std::sync::{Arc, Mutex, PoisonError};

use bethink_prefix_match::{Chain, ChainScope};
use bethink_transcript::SessionId;
use bytes::Bytes;

use super::cache::ConversationPlace;
use super::read_request::ReadRequest;
use super::request::{PromptPart, UpstreamPrompt};

/// A request that went up, until its answer is heard; clones are of one request.
#[derive(Clone, Debug)]
pub(crate) struct AnswerTicket(pub(super) Arc<TicketState>);

#[derive(Debug)]
pub(super) struct TicketState {
    pub(super) session: SessionId,
    pub(super) scope: ChainScope,
    pub(super) entrance: &'static str,
    /// Messages of the conversation that was sent, and the mark of them all.
    pub(super) length: usize,
    pub(super) chain: Chain,
    pub(super) mark: u128,
    /// Bytes of the messages that went up, and the request, until the upstream has taken it.
    request: Mutex<Option<(usize, Arc<ReadRequest>)>>,
}

impl AnswerTicket {
    /// The upstream took the prompt: what was held for another try is let go.
    pub(crate) fn accepted(&self) {
        self.0.request.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Bytes of the messages that went up, and the request; none once the upstream has taken it.
    pub(super) fn open_request(&self) -> Option<(usize, Arc<ReadRequest>)> {
        self.0.request.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A prompt for the upstream, and the ticket of its answer.
#[derive(Clone, Debug)]
pub(crate) struct PreparedPrompt<T = AnswerTicket> {
    pub(crate) ticket: T,
    pub(crate) prompt: UpstreamPrompt,
}

impl PreparedPrompt {
    pub(super) fn new(
        request: &Arc<ReadRequest>,
        place: &ConversationPlace,
        prompt: UpstreamPrompt,
    ) -> Self {
        let (length, mark) = request.whole();
        let bytes = bytes_of(request, &prompt);
        let state = TicketState {
            session: place.session,
            scope: place.scope,
            entrance: request.entrance,
            length,
            chain: request.chain.clone(),
            mark,
            request: Mutex::new(Some((bytes, Arc::clone(request)))),
        };
        Self { ticket: AnswerTicket(Arc::new(state)), prompt }
    }
}

/// Bytes that go up of what is ours to change.
fn bytes_of(request: &ReadRequest, prompt: &UpstreamPrompt) -> usize {
    let own = |index: usize| request.messages.get(index).map_or(0, Bytes::len);
    match prompt {
        UpstreamPrompt::Unchanged => (0..request.messages.len()).map(own).sum(),
        UpstreamPrompt::Changed { system_added, messages } => {
            let parts = messages.iter().map(|part| match part {
                PromptPart::Client(index) => own(*index),
                PromptPart::Written(bytes) => bytes.len(),
            });
            parts.sum::<usize>() + system_added.as_ref().map_or(0, String::len)
        }
    }
}
