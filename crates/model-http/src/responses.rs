//! OpenAI's Responses API: reads its answers, and converts its items to blocks of the Messages API and back.
//!
//! bethink's own calls do not use this API. Reasoning and items of unknown kinds become blocks with the item's own
//! bytes, so that nothing is lost.

mod item;
mod stream;
mod write;

use bethink_model::Reply;
use bethink_sse::SseEvent;

use crate::dialect::{AnswerFormat, Stream};
use crate::trouble::ProviderTrouble;
pub use item::{ItemSpeaker, ResponseItem, message_content};
use stream::{GatheredResponse, ResponseBody};
pub use write::{items_of_blocks, with_output};

/// Kinds of the events that end a stream.
const LAST: [&str; 4] = ["response.completed", "response.incomplete", "response.failed", "error"];

#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponsesFormat;

impl AnswerFormat for ResponsesFormat {
    type Stream = GatheredResponse;

    fn read_whole(&self, json: &str) -> Result<Reply, ProviderTrouble> {
        let response: ResponseBody<'_> =
            serde_json::from_str(json).map_err(|e| ProviderTrouble::no_json("the answer", &e))?;
        let mut gathered = GatheredResponse::default();
        gathered.end_with(&response)?;
        gathered.end()
    }

    fn is_last(&self, event: &SseEvent) -> bool {
        LAST.contains(&event.kind.as_str())
    }
}

#[cfg(test)]
mod tests;
