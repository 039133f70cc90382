//! The chat completions API of OpenAI, Ollama, llama.cpp's server, vLLM and many others.

mod body;
mod gather;

use bethink_model::{ModelRequest, Reply};
use bytes::Bytes;

use crate::answer;
use crate::dialect::{AnswerFormat, Dialect, Stream, WireRequest, read_answer};
use crate::trouble::ProviderTrouble;
use bethink_sse::SseEvent;
use gather::GatheredAnswer;

/// The data of the event that ends a stream.
const DONE: &str = "[DONE]";

#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenAiDialect {
    /// Whether this is OpenAI's own server, which has a different name for the output limit.
    own: bool,
}

impl OpenAiDialect {
    pub(crate) fn new(own: bool) -> Self {
        Self { own }
    }
}

impl Dialect for OpenAiDialect {
    const SENDS_THINKING: bool = false;

    fn call(&self, request: &ModelRequest, streamed: bool) -> Result<WireRequest, ProviderTrouble> {
        // OpenAI's newer models reject `max_tokens`; other servers know only that.
        let limit = if self.own { "max_completion_tokens" } else { "max_tokens" };
        let body = body::body(request, limit, streamed)?;
        Ok(WireRequest { route: "chat/completions", body, streamed, betas: String::new() })
    }

    fn count(&self, _request: &ModelRequest) -> Option<WireRequest> {
        None
    }
}

impl AnswerFormat for OpenAiDialect {
    type Stream = GatheredAnswer;

    fn read_whole(&self, json: &str) -> Result<Reply, ProviderTrouble> {
        let mut gathered = GatheredAnswer::default();
        gathered.add(read_answer(json, "the answer")?)?;
        gathered.end()
    }

    fn is_last(&self, event: &SseEvent) -> bool {
        event.data.trim() == DONE
    }
}

/// Converts a message `{role, content}` of the Messages API to one or more messages of chat completions, joined by
/// commas; `None` if it is invalid.
pub fn chat_messages(message: &Bytes) -> Option<String> {
    Some(body::messages(answer::message(message.clone()).ok()?))
}

#[cfg(test)]
mod tests;
