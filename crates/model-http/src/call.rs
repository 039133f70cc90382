//! Makes one call: sends the request of a dialect, and reads the whole or streamed answer.

use std::sync::Arc;

use bethink_model::request::about_tokens;
use bethink_model::{Answer, Counted, ErrorClass, Model, ModelError, ModelRequest, Reply};
use bethink_sse::Decoder;
use bethink_transcript::{Block, TokenUsage};
use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::answer;
use crate::clean::REDACTED;
use crate::dialect::{DeltaTaken, Dialect, Stream, WireRequest};
use crate::forward::{Forwarder, OutgoingRequest};
use crate::head::{BodyKind, ResponseHead, kind};
use crate::incoming::IncomingAnswer;
use crate::key::ApiKey;
use crate::limits::{MAX_FIGURE, MIN_SECRET};
use crate::trouble::ProviderTrouble;

const BETAS: HeaderName = HeaderName::from_static("anthropic-beta");

/// A model that is called over HTTP.
#[derive(Debug)]
pub(crate) struct HttpModel<D> {
    dialect: D,
    server: Arc<Forwarder>,
    streaming: bool,
    /// Headers, query and credential of a client on whose behalf the model is called.
    client: Option<OutgoingRequest>,
}

impl<D: Dialect> HttpModel<D> {
    pub(crate) fn new(dialect: D, server: Arc<Forwarder>, streaming: bool) -> Self {
        Self { dialect, server, streaming, client: None }
    }

    /// Sends each request with the headers, the query and the credential of `client`.
    pub(crate) fn on_behalf_of(self, client: OutgoingRequest) -> Self {
        Self { client: Some(client), ..self }
    }

    async fn ask(&self, request: &ModelRequest) -> Result<Reply, Box<ModelError>> {
        let wire = self.dialect.call(request, self.streaming);
        let unsent =
            |trouble: ProviderTrouble| Box::new(trouble.explained(&ResponseHead::default(), None));
        let mut incoming = self.post(wire.map_err(unsent)?).await?;
        let mut used = TokenUsage::default();
        let read = match kind(&incoming.response.headers) {
            BodyKind::Events => self.read_stream(&mut incoming, &mut used).await,
            BodyKind::Unspecified if self.streaming => {
                self.read_stream(&mut incoming, &mut used).await
            }
            // Some servers do not stream even if asked to.
            BodyKind::Json | BodyKind::Unspecified => {
                let read = self.read_whole(&mut incoming).await;
                if !matches!(read, Err(ProviderTrouble::Refused(_))) {
                    used.output_tokens = u64::from(about_tokens(incoming.taken));
                }
                read
            }
            BodyKind::Other(kind) => {
                Err(ProviderTrouble::broken(format!("the answer is {kind}, not JSON")))
            }
        };
        let read = read.and_then(|reply| without_key(reply, incoming.response.key.as_deref()));
        read.map_err(|trouble| {
            // An error in place of an answer costs nothing.
            let is_refused =
                matches!(trouble, ProviderTrouble::Refused(_)) && used == TokenUsage::default();
            let mut error = incoming.explained(trouble);
            error.usage = (!is_refused).then(|| Box::new(used));
            error
        })
    }

    async fn post(&self, wire: WireRequest) -> Result<IncomingAnswer, Box<ModelError>> {
        let accept = if wire.streamed { "text/event-stream" } else { "application/json" };
        let mut headers = HeaderMap::new();
        for (name, value) in D::HEADERS {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Ok(betas) = HeaderValue::from_str(&wire.betas)
            && !betas.is_empty()
        {
            headers.insert(BETAS, betas);
        }
        // A client's headers replace these.
        if let Some(client) = &self.client {
            headers.extend(client.headers.clone());
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let outgoing = OutgoingRequest {
            method: Method::POST,
            route: wire.route.into(),
            query: self.client.as_ref().and_then(|client| client.query.clone()),
            headers,
            body: Bytes::from(wire.body),
            with_key: self.client.as_ref().is_none_or(|client| client.with_key),
        };
        IncomingAnswer::admitted(self.server.send(outgoing).await?, self.server.limits.answer).await
    }

    async fn read_whole(&self, incoming: &mut IncomingAnswer) -> Result<Reply, ProviderTrouble> {
        let body = incoming.whole().await?;
        let json = std::str::from_utf8(&body);
        self.dialect
            .read_whole(json.map_err(|_| ProviderTrouble::broken("the answer is not UTF-8"))?)
    }

    /// Reads a streamed answer. `used` becomes what is known about its usage, with at least one output token for each
    /// event, since most providers report the output only at the end.
    async fn read_stream(
        &self,
        incoming: &mut IncomingAnswer,
        used: &mut TokenUsage,
    ) -> Result<Reply, ProviderTrouble> {
        let most = self.server.limits.event;
        let (mut decoder, mut events) = (Decoder::new(most), Vec::new());
        let (mut stream, mut taken) = (D::Stream::default(), 0);
        while let Some(chunk) = incoming.chunk().await? {
            let decoded = decoder.push(&chunk, &mut events);
            for event in events.drain(..) {
                let delta = stream.take(&event)?;
                taken += 1;
                *used = stream.meta().tally.end().0;
                used.output_tokens = used.output_tokens.max(taken);
                if delta == DeltaTaken::Last {
                    return stream.end();
                }
            }
            decoded
                .map_err(|_| ProviderTrouble::too_much("an event in the answer's stream", most))?;
        }
        stream.end()
    }

    async fn ask_count(&self, request: &ModelRequest) -> Result<Option<u64>, Box<ModelError>> {
        let Some(wire) = self.dialect.count(request) else { return Ok(None) };
        let mut incoming = match self.post(wire).await {
            Ok(incoming) => incoming,
            // Not every server with this wire format can count.
            Err(error) if matches!(error.status, Some(404 | 405 | 501)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let counted = read_count(&mut incoming).await;
        counted.map(Some).map_err(|trouble| incoming.explained(trouble))
    }
}

impl<D: Dialect> Model for HttpModel<D> {
    fn provider(&self) -> &'static str {
        self.server.provider.as_str()
    }

    fn call<'a>(&'a self, request: &'a ModelRequest) -> Answer<'a> {
        Box::pin(async move {
            self.ask(request).await.map_err(|mut error| {
                // A retry without thinking would send the same bytes.
                if error.class == ErrorClass::ThinkingBound && !D::SENDS_THINKING {
                    error.class = ErrorClass::Invalid;
                }
                *error
            })
        })
    }

    fn count<'a>(&'a self, request: &'a ModelRequest) -> Counted<'a> {
        Box::pin(async move { self.ask_count(request).await.map_err(|error| *error) })
    }
}

/// Removes the key from an answer: the model may repeat it, and answers are stored.
fn without_key(reply: Reply, key: Option<&ApiKey>) -> Result<Reply, ProviderTrouble> {
    let key = key.map(ApiKey::expose).filter(|key| key.len() >= MIN_SECRET);
    let Some(key) = key else { return Ok(reply) };
    let texts = reply.content.iter().map(Block::as_str);
    let texts: Vec<String> = texts.map(|text| text.replace(key, REDACTED)).collect();
    if texts.iter().zip(&reply.content).all(|(text, block)| text == block.as_str()) {
        return Ok(reply);
    }
    let content = answer::blocks(&format!("[{}]", texts.join(",")))?;
    Ok(Reply { content, ..reply })
}

async fn read_count(incoming: &mut IncomingAnswer) -> Result<u64, ProviderTrouble> {
    #[derive(serde::Deserialize)]
    struct Count {
        input_tokens: u64,
    }
    let body = incoming.whole().await?;
    let count: Count =
        serde_json::from_slice(&body).map_err(|e| ProviderTrouble::no_json("the count", &e))?;
    if count.input_tokens > MAX_FIGURE {
        return Err(ProviderTrouble::broken("the token count is implausibly large"));
    }
    Ok(count.input_tokens)
}

#[cfg(test)]
mod tests;
