//! Somebody else's call, passed on to the server that it is meant for: sent once, as it is, and its answer handed
//! back piece by piece as it comes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bethink_model::{Class, ModelError};
use bethink_sse::Decoder;
use bytes::Bytes;
use http_body::Body as _;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Body, Method, Response, StatusCode};
use tokio::time::{Instant, Sleep, timeout};

use crate::base::Base;
use crate::clean::scrubbed;
use crate::connect::Connector;
use crate::endpoint::{Endpoint, EndpointError, Provider};
use crate::head::{Head, Kind, kind};
use crate::key::{Keeper, Key, KeySource};
use crate::limits::{Limits, MAX_REFUSAL};
use crate::line::{redirection, silence};
use crate::trouble::{Refusal, Trouble};

/// The way to one server. Nothing is connected, read or asked for until the first call.
#[derive(Debug)]
pub struct Forwarder {
    provider: Provider,
    base: Base,
    keeper: Option<Keeper>,
    limits: Limits,
    client: Connector,
}

/// A request to pass on.
#[derive(Debug)]
pub struct Letter {
    pub method: Method,
    /// Below the base, without a slash before it.
    pub route: &'static str,
    pub query: Option<String>,
    /// As they go up; what may not go up is taken out before.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The configured key goes with it, in place of what `headers` hold.
    pub with_key: bool,
}

impl Letter {
    /// The same with another body.
    pub fn with_body(&self, body: Bytes) -> Self {
        Self {
            method: self.method.clone(),
            route: self.route,
            query: self.query.clone(),
            headers: self.headers.clone(),
            body,
            with_key: self.with_key,
        }
    }
}

impl Forwarder {
    pub fn open(endpoint: &Endpoint) -> Result<Self, EndpointError> {
        let base = Base::parse(endpoint.provider, &endpoint.base_url, endpoint.allow_plain_http)?;
        endpoint.key.check()?;
        if endpoint.limits.connect.is_zero() || endpoint.limits.idle.is_zero() {
            return Err(EndpointError::NoTime);
        }
        let keeper = (endpoint.key != KeySource::None)
            .then(|| Keeper::new(endpoint.key.clone(), base.url().origin()));
        let (provider, limits) = (endpoint.provider, endpoint.limits);
        Ok(Self { provider, base, keeper, limits, client: Connector::new() })
    }

    /// A key is configured.
    pub fn has_key(&self) -> bool {
        self.keeper.is_some()
    }

    /// `scheme://host:port`, to show.
    pub fn origin(&self) -> String {
        self.base.origin()
    }

    /// Sends `letter` and waits for the head of the answer, whatever it says. Only a redirect is an error: who
    /// follows one carries a key elsewhere.
    pub async fn send(&self, letter: Letter) -> Result<Passing, Box<ModelError>> {
        let key = self.key(letter.with_key).await.map_err(explained)?;
        let sent = self.send_with(letter, key.as_deref()).await.map_err(explained)?;
        if sent.status() == StatusCode::UNAUTHORIZED
            && let (Some(keeper), Some(_)) = (&self.keeper, &key)
        {
            keeper.refused().await;
        }
        if sent.status().is_redirection() {
            return Err(explained(redirection(sent.headers(), self.base.url())));
        }
        Ok(Passing::new(sent, key, &self.base, self.limits.idle))
    }

    async fn key(&self, wanted: bool) -> Result<Option<Arc<Key>>, Trouble> {
        match &self.keeper {
            Some(keeper) if wanted => Ok(keeper.key_for(self.base.url()).await?),
            _ => Ok(None),
        }
    }

    async fn send_with(&self, letter: Letter, key: Option<&Key>) -> Result<Response, Trouble> {
        let mut url = self.base.route(letter.route);
        url.set_query(letter.query.as_deref());
        let mut headers = letter.headers;
        // Answers are read as they pass by.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(key) = key {
            let (name, prefix) = key_header(self.provider);
            headers.insert(HeaderName::from_static(name), key.header(prefix)?);
        }
        let client = self.client.get(&self.base, &self.limits)?;
        let request = client.request(letter.method, url).headers(headers).body(letter.body);
        let sent = timeout(self.limits.idle, request.send()).await;
        let sent = sent.map_err(|_| silence(self.limits.idle, "the head of an answer"))?;
        sent.map_err(|e| Trouble::of_transport(&e, &self.base.origin()))
    }
}

fn key_header(provider: Provider) -> (&'static str, &'static str) {
    match provider {
        Provider::Anthropic => ("x-api-key", ""),
        Provider::OpenAi => ("authorization", "Bearer "),
    }
}

fn explained(trouble: Trouble) -> Box<ModelError> {
    Box::new(trouble.explained(&Head::default(), None, false))
}

/// An answer whose head has come. Dropped, it ends the request.
pub struct Passing {
    pub status: StatusCode,
    /// Without any that hold the key.
    pub headers: HeaderMap,
    /// What came first, where somebody looked at it.
    front: Option<Bytes>,
    body: Body,
    key: Option<Arc<Key>>,
    origin: String,
    idle: Duration,
    heard: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl Passing {
    fn new(response: Response, key: Option<Arc<Key>>, base: &Base, idle: Duration) -> Self {
        let status = response.status();
        let mut headers = response.headers().clone();
        if let Some(key) = &key {
            let found: Vec<HeaderName> = headers
                .iter()
                .filter(|(_, value)| scrubbed(value.as_bytes(), key).is_some())
                .map(|(name, _)| name.clone())
                .collect();
            found.iter().for_each(|name| drop(headers.remove(name)));
        }
        Self {
            status,
            headers,
            front: None,
            body: Body::from(response),
            key,
            origin: base.origin(),
            idle,
            heard: Instant::now(),
            alarm: Box::pin(tokio::time::sleep(idle)),
        }
    }

    /// The next bytes, as they came; `None` at the end that HTTP tells of.
    pub fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Box<ModelError>>>> {
        if let Some(front) = self.front.take() {
            return Poll::Ready(Some(Ok(front)));
        }
        loop {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.heard = Instant::now();
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    let trouble = Trouble::of_transport(&error, &self.origin);
                    return Poll::Ready(Some(Err(explained(trouble))));
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return self.poll_silence(context).map(|e| Some(Err(e))),
            }
        }
    }

    /// The alarm is set anew only when it rings: not once for every piece.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<Box<ModelError>> {
        while self.alarm.as_mut().poll(context).is_ready() {
            let until = self.heard + self.idle;
            if until <= Instant::now() {
                return Poll::Ready(explained(silence(self.idle, "the answer")));
            }
            self.alarm.as_mut().reset(until);
        }
        Poll::Pending
    }

    /// Waits for the first bytes of a stream; they are not taken. What the provider says in them is an error that it
    /// found before it began to answer, as JSON.
    pub async fn look(&mut self) -> Result<Option<String>, Box<ModelError>> {
        if !matches!(kind(&self.headers), Kind::Events) || self.front.is_some() {
            return Ok(None);
        }
        let first = std::future::poll_fn(|context| self.poll_data(context)).await;
        let first = first.unwrap_or_else(|| {
            Err(explained(Trouble::broken("the stream ended before it began")))
        })?;
        let error = first_error(&first);
        self.front = Some(first);
        Ok(error)
    }

    /// All that comes, `most` bytes of it; without the key, where a refusal repeats it.
    pub async fn whole(&mut self, most: usize) -> Result<Bytes, Box<ModelError>> {
        let mut body = Vec::new();
        while let Some(data) = std::future::poll_fn(|context| self.poll_data(context)).await {
            body.extend_from_slice(&data?);
            if body.len() > most {
                let what = format!("a refusal has more than {most} bytes");
                return Err(explained(Trouble::Found(Class::TooMuch, what)));
            }
        }
        let clean = self.key.as_deref().and_then(|key| scrubbed(&body, key));
        Ok(clean.map_or_else(|| Bytes::from(body), Bytes::from))
    }
}

/// The error that a stream begins with.
fn first_error(bytes: &[u8]) -> Option<String> {
    let mut events = Vec::new();
    Decoder::new(MAX_REFUSAL).push(bytes, &mut events).ok()?;
    let first = events.into_iter().find(|event| event.kind != "ping")?;
    Refusal::in_answer(&first.data).map(|_| first.data)
}

impl std::fmt::Debug for Passing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passing").field("status", &self.status).finish_non_exhaustive()
    }
}
