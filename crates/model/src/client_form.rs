//! The parts of a client's own requests that bethink's requests repeat byte for byte, so that the provider finds the
//! prefix in its cache.

use std::collections::BTreeMap;

use bethink_transcript::prompt::whole_messages;
use bethink_transcript::{PromptMessage, Seq};
use bytes::Bytes;

/// The parts of a client's request that are not part of a prompt.
#[derive(Clone, Debug, Default)]
pub struct ClientForm {
    /// The request's other members, such as `thinking`, as a JSON object; empty for none.
    pub parameters: Bytes,
    /// Value of the `anthropic-beta` header; empty for none.
    pub betas: String,
    /// Messages as the client sent them, breakpoints included.
    pub messages: BTreeMap<Seq, ClientMessage>,
}

/// A message in the client's own bytes.
#[derive(Clone, Debug)]
pub struct ClientMessage {
    pub json: Bytes,
    /// Number of blocks in the message. A prompt that shows fewer blocks does not show the client's message.
    pub blocks: usize,
}

impl ClientForm {
    /// Returns the client's messages that a prompt's message consists of; `None` if the message differs from them in any way.
    pub fn own(&self, message: &PromptMessage) -> Option<Vec<&Bytes>> {
        if self.messages.is_empty() {
            return None;
        }
        let whole = whole_messages(&message.blocks, |seq| Some(self.messages.get(&seq)?.blocks));
        whole?.iter().map(|seq| Some(&self.messages.get(seq)?.json)).collect()
    }
}
