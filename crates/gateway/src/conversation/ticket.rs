//! The state of a forwarded request: which conversation its answer belongs to, and how to retry it.

use std::sync::{Arc, Mutex};

use bethink_prefix_match::{Chain, ChainScope};
use bethink_service::locked;
use bethink_transcript::SessionId;
use bytes::Bytes;

use super::cache::ConversationPlace;
use super::read_request::ReadRequest;
use super::request::{PromptPart, UpstreamPrompt};

/// A forwarded request whose answer is pending. Clones refer to the same request.
#[derive(Clone, Debug)]
pub(crate) struct AnswerTicket(pub(super) Arc<TicketState>);

#[derive(Debug)]
pub(super) struct TicketState {
    pub(super) session: SessionId,
    pub(super) scope: ChainScope,
    pub(super) entrance: &'static str,
    /// Number of messages that were sent.
    pub(super) length: usize,
    pub(super) chain: Chain,
    /// Mark of all messages that were sent.
    pub(super) mark: u128,
    /// The leading instructions as JSON, if a later request may continue the answer by its ID.
    pub(super) chain_heads: Option<Arc<[String]>>,
    /// Size of the sent messages in bytes, and the request; `None` once the provider has accepted the prompt.
    request: Mutex<Option<(usize, Arc<ReadRequest>)>>,
}

impl AnswerTicket {
    /// Releases what was kept for a retry, because the provider has accepted the prompt.
    pub(crate) fn accepted(&self) {
        locked(&self.0.request).take();
    }

    /// Returns the size of the sent messages in bytes, and the request; `None` once the provider has accepted the
    /// prompt.
    pub(super) fn open_request(&self) -> Option<(usize, Arc<ReadRequest>)> {
        locked(&self.0.request).clone()
    }
}

/// A prompt to send, and the ticket for its answer.
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
            chain_heads: request.chain_heads.clone(),
            request: Mutex::new(Some((bytes, Arc::clone(request)))),
        };
        Self { ticket: AnswerTicket(Arc::new(state)), prompt }
    }
}

/// Size of the messages and the added system text, in bytes.
fn bytes_of(request: &ReadRequest, prompt: &UpstreamPrompt) -> usize {
    let own = |index: usize| request.messages.get(index).map_or(0, Bytes::len);
    match prompt {
        UpstreamPrompt::Unchanged => (0..request.messages.len()).map(own).sum(),
        UpstreamPrompt::Changed { system_added, messages } => {
            let parts = messages.iter().map(|part| match part {
                PromptPart::Client(index) => own(*index),
                PromptPart::Written(written) => written.json.len(),
            });
            parts.sum::<usize>() + system_added.as_ref().map_or(0, String::len)
        }
    }
}
