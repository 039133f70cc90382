//! Chat completions, as OpenAI, Ollama, llama.cpp's server, vLLM and many others speak them.

mod body;
mod gather;

use bethink_model::{Reply, Request};

use crate::call::{Dialect, Parcel, Stream, Taken};
use crate::trouble::{Refusal, Trouble};
use bethink_sse::Event;
use gather::{Chunk, Gathered};

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
}

#[derive(Debug, Default)]
pub(crate) struct Chunks(Gathered);

impl Stream for Chunks {
    fn take<'a>(&mut self, event: &'a Event) -> Result<Taken<'a>, Trouble> {
        if event.data.trim() == "[DONE]" {
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
}

fn read(json: &str) -> Result<Chunk<'_>, Trouble> {
    if let Some(refusal) = Refusal::in_answer(json) {
        return Err(Trouble::Refused(refusal));
    }
    serde_json::from_str(json).map_err(|e| Trouble::no_json("the answer", &e))
}

#[cfg(test)]
mod tests;
