//! Chat completions, as OpenAI, Ollama, llama.cpp's server, vLLM and many others speak them.

mod body;
mod gather;

use bethink_model::{Reply, Request};
use bethink_transcript::message::Source;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, UnixMicros};
use bytes::Bytes;

use crate::call::{Dialect, Parcel, Stream, Taken};
use crate::tee::Begun;
use crate::trouble::{Refusal, Trouble};
use bethink_sse::Event;
use gather::{Chunk, Gathered};

/// The data of the event that ends a stream.
const DONE: &str = "[DONE]";

#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenAi {
    /// OpenAI's own server has another name for the limit of output.
    own: bool,
}

impl OpenAi {
    pub(crate) fn new(own: bool) -> Self {
        Self { own }
    }
}

impl Dialect for OpenAi {
    type Stream = Chunks;

    fn provider(&self) -> &'static str {
        "openai"
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    fn sends_thinking(&self) -> bool {
        false
    }

    fn call(&self, request: &Request, streamed: bool) -> Result<Parcel, Trouble> {
        // Its newer models refuse `max_tokens`; other servers know nothing else.
        let limit = if self.own { "max_completion_tokens" } else { "max_tokens" };
        let body = body::body(request, limit, streamed)?;
        Ok(Parcel { route: "chat/completions", body, streamed })
    }

    fn count(&self, _request: &Request) -> Option<Parcel> {
        None
    }

    fn read_whole(&self, json: &str) -> Result<Reply, Trouble> {
        let mut gathered = Gathered::default();
        gathered.take(read(json)?)?;
        gathered.end()
    }

    fn stream(&self) -> Chunks {
        Chunks::default()
    }

    fn is_last(&self, event: &Event) -> bool {
        event.data.trim() == DONE
    }
}

#[derive(Debug, Default)]
pub(crate) struct Chunks(Gathered);

impl Stream for Chunks {
    fn take<'a>(&mut self, event: &'a Event) -> Result<Taken<'a>, Trouble> {
        if event.data.trim() == DONE {
            return Ok(Taken::Last);
        }
        let text = self.0.take(read(&event.data)?)?;
        Ok(text.map_or(Taken::Other, Taken::Text))
    }

    /// A stream that ends without `[DONE]` is whole if it told why the answer ended: not every server
    /// sends the mark, and what may be missing then is the usage, which shows as doubtful.
    fn end(self) -> Result<Reply, Trouble> {
        self.0.end()
    }

    fn begun(&self) -> Begun {
        self.0.begun()
    }
}

/// A message `{role, content}` of the Messages API as messages of chat completions, joined by commas; `None` where
/// it is none.
pub fn chat_messages(message: &Bytes) -> Option<String> {
    let id = MessageId::new("message").ok()?;
    let meta = MessageMeta { seq: Seq::ZERO, id, created_at: UnixMicros(0) };
    let message = Message::parse(meta, message.clone(), Source::Client).ok()?;
    Some(body::messages(message))
}

fn read(json: &str) -> Result<Chunk<'_>, Trouble> {
    if let Some(refusal) = Refusal::in_answer(json) {
        return Err(Trouble::Refused(refusal));
    }
    serde_json::from_str(json).map_err(|e| Trouble::no_json("the answer", &e))
}

#[cfg(test)]
mod tests;
