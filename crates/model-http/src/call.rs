//! One call: what a dialect writes goes out, and what comes back is read, as a whole or as a stream.

use std::borrow::Cow;
use std::fmt;

use bethink_model::{Answer, Class, Counted, Hearer, Model, ModelError, Reply, Request};

use crate::head::{Head, Kind};
use crate::limits::MAX_FIGURE;
use crate::line::{Incoming, Line};
use crate::tee::Begun;
use crate::trouble::Trouble;
use bethink_sse::{Decoder, Event};

/// What goes out.
#[derive(Debug)]
pub(crate) struct Parcel {
    /// Below the base, without a slash before it.
    pub(crate) route: &'static str,
    pub(crate) body: Vec<u8>,
    pub(crate) streamed: bool,
}

/// A wire format.
pub(crate) trait Dialect: Send + Sync + fmt::Debug {
    type Stream: Stream;

    fn provider(&self) -> &'static str;
    /// The header that carries a key, and what stands before the key in it.
    fn key_header(&self) -> (&'static str, &'static str);
    fn headers(&self) -> &'static [(&'static str, &'static str)];
    /// A complaint about thinking can be met by leaving it out.
    fn sends_thinking(&self) -> bool;
    fn call(&self, request: &Request, streamed: bool) -> Result<Parcel, Trouble>;
    /// The question for a count; `None` where none is offered.
    fn count(&self, request: &Request) -> Option<Parcel>;
    fn read_whole(&self, json: &str) -> Result<Reply, Trouble>;
    fn stream(&self) -> Self::Stream;
    /// The event says that nothing of worth follows, whatever came before it.
    fn is_last(&self, event: &Event) -> bool;
}

/// Puts an answer together from its events.
pub(crate) trait Stream: Send {
    fn take<'a>(&mut self, event: &'a Event) -> Result<Taken<'a>, Trouble>;
    /// After the last event, also where the stream just ended: whether that is an answer is for the
    /// dialect to say.
    fn end(self) -> Result<Reply, Trouble>;
    /// What is known before the end.
    fn begun(&self) -> Begun;
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken<'a> {
    /// A piece of the readable text.
    Text(Cow<'a, str>),
    Other,
    /// Nothing of worth follows.
    Last,
}

/// A model that is asked over HTTP.
#[derive(Debug)]
pub(crate) struct HttpModel<D> {
    dialect: D,
    line: Line,
    streaming: bool,
}

impl<D: Dialect> HttpModel<D> {
    pub(crate) fn new(dialect: D, line: Line, streaming: bool) -> Self {
        Self { dialect, line, streaming }
    }

    async fn ask(&self, request: &Request, heard: &dyn Hearer) -> Result<Reply, Box<ModelError>> {
        let parcel = self.dialect.call(request, self.streaming).map_err(unsent)?;
        let mut incoming = self.line.post(&self.dialect, parcel).await?;
        let mut told = false;
        let read = match incoming.kind() {
            Kind::Events => self.read_stream(&mut incoming, heard, &mut told).await,
            Kind::Unsaid if self.streaming => {
                self.read_stream(&mut incoming, heard, &mut told).await
            }
            // Some servers don't stream, whatever they are asked.
            Kind::Json | Kind::Unsaid => self.read_whole(&mut incoming, heard).await,
            Kind::Other(kind) => Err(Trouble::broken(format!("the answer is {kind}, not JSON"))),
        };
        read.map_err(|trouble| incoming.explained(trouble, told))
    }

    async fn read_whole(
        &self,
        incoming: &mut Incoming,
        heard: &dyn Hearer,
    ) -> Result<Reply, Trouble> {
        let body = incoming.whole().await?;
        let reply = self.dialect.read_whole(utf8(&body)?)?;
        if heard.listens() {
            heard.text(&reply.text());
        }
        Ok(reply)
    }

    async fn read_stream(
        &self,
        incoming: &mut Incoming,
        heard: &dyn Hearer,
        told: &mut bool,
    ) -> Result<Reply, Trouble> {
        let most = self.line.limits().event;
        let (mut decoder, mut events) = (Decoder::new(most), Vec::new());
        let mut stream = self.dialect.stream();
        while let Some(chunk) = incoming.chunk().await? {
            let decoded = decoder.push(&chunk, &mut events);
            for event in events.drain(..) {
                match stream.take(&event)? {
                    Taken::Text(piece) if heard.listens() && !piece.is_empty() => {
                        *told = true;
                        heard.text(&piece);
                    }
                    Taken::Text(_) | Taken::Other => {}
                    Taken::Last => return stream.end(),
                }
            }
            decoded.map_err(|_| Trouble::too_much("an event of the answer", most))?;
        }
        stream.end()
    }

    async fn ask_count(&self, request: &Request) -> Result<Option<u64>, Box<ModelError>> {
        let Some(parcel) = self.dialect.count(request) else { return Ok(None) };
        let mut incoming = match self.line.post(&self.dialect, parcel).await {
            Ok(incoming) => incoming,
            // Servers that speak the dialect need not count.
            Err(error) if matches!(error.status, Some(404 | 405 | 501)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let counted = read_count(&mut incoming).await;
        counted.map(Some).map_err(|trouble| incoming.explained(trouble, false))
    }
}

impl<D: Dialect> Model for HttpModel<D> {
    fn provider(&self) -> &'static str {
        self.dialect.provider()
    }

    fn call<'a>(&'a self, request: &'a Request, heard: &'a dyn Hearer) -> Answer<'a> {
        Box::pin(async move {
            self.ask(request, heard).await.map_err(|mut error| {
                // Without it the next request would be the same, byte for byte.
                if error.class == Class::ThinkingBound && !self.dialect.sends_thinking() {
                    error.class = Class::Invalid;
                }
                *error
            })
        })
    }

    fn count<'a>(&'a self, request: &'a Request) -> Counted<'a> {
        Box::pin(async move { self.ask_count(request).await.map_err(|error| *error) })
    }
}

async fn read_count(incoming: &mut Incoming) -> Result<u64, Trouble> {
    #[derive(serde::Deserialize)]
    struct Count {
        input_tokens: u64,
    }
    let body = incoming.whole().await?;
    let count: Count =
        serde_json::from_slice(&body).map_err(|e| Trouble::no_json("the count", &e))?;
    if count.input_tokens > MAX_FIGURE {
        return Err(Trouble::broken("the count is absurd"));
    }
    Ok(count.input_tokens)
}

fn utf8(body: &[u8]) -> Result<&str, Trouble> {
    std::str::from_utf8(body).map_err(|_| Trouble::broken("the answer is not UTF-8"))
}

fn unsent(trouble: Trouble) -> Box<ModelError> {
    Box::new(trouble.explained(&Head::default(), None, false))
}

#[cfg(test)]
mod tests;
