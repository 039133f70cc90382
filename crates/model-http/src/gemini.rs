//! Gemini's `generateContent`: reads its answers, and converts its parts to blocks of the Messages API and back.
//!
//! bethink's own calls do not use this API. A block also keeps the other members of its part, such as a
//! `thoughtSignature`, and parts of unknown kinds become blocks with their own bytes, so that nothing is lost.

mod content;
mod stream;
mod write;

use bethink_model::Reply;
use bethink_sse::SseEvent;
use serde_json::value::RawValue;

use crate::dialect::{AnswerFormat, Stream, read_answer};
use crate::trouble::ProviderTrouble;
pub use content::{GeminiMessage, messages_of_contents};
use stream::GatheredContent;
pub use write::{parts_of_blocks, with_response};

#[derive(Clone, Copy, Debug)]
pub(crate) struct GeminiFormat {
    /// Index of the answer's message in its conversation.
    pub(crate) message: usize,
}

impl AnswerFormat for GeminiFormat {
    type Stream = GatheredContent;

    const HAS_END_EVENT: bool = false;

    fn begin(&self) -> GatheredContent {
        GatheredContent::new(self.message)
    }

    /// Reads one response, or the list of responses of a stream that is not sent as events.
    fn read_whole(&self, json: &str) -> Result<Reply, ProviderTrouble> {
        let no_json = |e: serde_json::Error| ProviderTrouble::no_json("the answer", &e);
        let chunks: Vec<&RawValue> = match json.trim_start().starts_with('[') {
            true => serde_json::from_str(json).map_err(no_json)?,
            false => vec![serde_json::from_str(json).map_err(no_json)?],
        };
        let mut gathered = self.begin();
        for chunk in chunks {
            gathered.add(&read_answer(chunk.get(), "the answer")?)?;
        }
        gathered.end()
    }

    fn is_last(&self, event: &SseEvent) -> bool {
        event.data.contains("\"finishReason\"")
    }
}

#[cfg(test)]
mod tests;
