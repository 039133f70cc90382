//! What a model is asked: the session's own bytes, and what is appended to them.

use bethink_transcript::prompt::messages_json;
use bethink_transcript::{Mark, ValidPrompt};
use bytes::Bytes;

/// One call. Equal requests have equal bytes on the wire, so that a provider finds its cached prefix.
#[derive(Clone, Debug)]
pub struct Request {
    pub model: String,
    /// JSON array of text blocks, cache breakpoints included; `[]` for none.
    pub system: Bytes,
    /// JSON array of tool definitions in the shape of the Messages API; `[]` for none.
    pub tools: Bytes,
    pub prompt: ValidPrompt,
    /// Blocks of the prompt that carry a cache breakpoint.
    pub marks: Vec<Mark>,
    pub max_tokens: u64,
}

impl Request {
    /// The `messages` of the Messages API.
    pub fn messages_json(&self) -> Vec<u8> {
        messages_json(self.prompt.messages(), &self.marks)
    }

    /// Bytes of all that is sent, near enough to compare and to bound by.
    pub fn weight(&self) -> usize {
        let blocks = self.prompt.messages().iter().flat_map(|m| &m.blocks);
        let messages: usize = blocks.map(|block| block.json.len() + 1).sum();
        self.system.len() + self.tools.len() + messages
    }
}
