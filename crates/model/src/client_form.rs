//! The parts of a client's own requests that bethink's requests repeat byte for byte, to find their prefix in the
//! provider's cache.

use std::collections::BTreeMap;

use bethink_transcript::prompt::whole_messages;
use bethink_transcript::{PromptMessage, Seq};
use bytes::Bytes;

/// The parts of a client's request that a prompt does not have.
#[derive(Clone, Debug, Default)]
pub struct ClientForm {
    /// JSON object of the request's other members, such as `thinking`; empty for none.
    pub parameters: Bytes,
    /// The header `anthropic-beta`; empty for none.
    pub betas: String,
    /// Messages as the client sent them, breakpoints included.
    pub messages: BTreeMap<Seq, ClientMessage>,
}

/// A message in the client's own bytes.
#[derive(Clone, Debug)]
pub struct ClientMessage {
    pub json: Bytes,
    /// Number of its blocks. A prompt that shows fewer of them does not show the client's message.
    pub blocks: usize,
}

impl ClientForm {
    /// Returns the client's messages that a message of a prompt consists of; `None` if anything differs from them.
    pub fn own(&self, message: &PromptMessage) -> Option<Vec<&Bytes>> {
        if self.messages.is_empty() {
            return None;
        }
        let whole = whole_messages(&message.blocks, |seq| Some(self.messages.get(&seq)?.blocks));
        whole?.iter().map(|seq| Some(&self.messages.get(seq)?.json)).collect()
    }
}
