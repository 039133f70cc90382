//! Sends requests to one server, both bethink's own calls and forwarded calls. Each request is sent once and unchanged,
//! with its key and within its limits. The answer is returned in pieces as it arrives.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bethink_model::{ErrorClass, ModelError};
use bethink_sse::Decoder;
use bytes::Bytes;
use http_body::Body as _;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Body, Method, Response, StatusCode, Url};
use tokio::time::{Instant, Sleep, timeout};

use crate::base::Base;
use crate::clean::scrubbed;
use crate::connect::Connector;
use crate::endpoint::Endpoint;
use crate::head::{BodyKind, ResponseHead, kind};
use crate::key::{ApiKey, KeyCache};
use crate::limits::{HttpLimits, MAX_REFUSAL};
use crate::provider::{EndpointError, Provider};
use crate::trouble::{ProviderRefusal, ProviderTrouble};

/// Events that may come before the error in a stream with which a provider refuses a request.
const BEFORE_AN_ERROR: [&str; 4] =
    ["ping", "response.created", "response.queued", "response.in_progress"];

/// Sends requests to one server. Does not connect or read a key until the first call.
#[derive(Debug)]
pub struct Forwarder {
    pub(crate) provider: Provider,
    pub(crate) base: Base,
    pub(crate) limits: HttpLimits,
    keys: KeyCache,
    client: Connector,
}

/// A request to send.
#[derive(Clone, Debug)]
pub struct OutgoingRequest {
    pub method: Method,
    /// Path relative to the base, without a leading slash.
    pub route: Cow<'static, str>,
    pub query: Option<String>,
    /// Headers to send. Only `Accept-Encoding` is replaced and, if `with_key` is set, the key. The caller removes headers that
    /// must not be sent.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Whether to send the configured key instead of the one in `headers`.
    pub with_key: bool,
}

impl Forwarder {
    pub fn open(endpoint: &Endpoint) -> Result<Self, EndpointError> {
        let base = Base::parse(endpoint.provider, &endpoint.base_url, endpoint.allow_plain_http)?;
        endpoint.key.check()?;
        if endpoint.limits.connect.is_zero() || endpoint.limits.idle.is_zero() {
            return Err(EndpointError::NoTime);
        }
        let keys = KeyCache::new(endpoint.key.clone(), base.url().origin());
        let (provider, limits) = (endpoint.provider, endpoint.limits);
        Ok(Self { provider, base, keys, limits, client: Connector::new() })
    }

    /// Returns whether a key is configured.
    pub fn has_key(&self) -> bool {
        self.keys.has_key()
    }

    /// Returns `scheme://host:port`, for display.
    pub fn origin(&self) -> String {
        self.base.origin()
    }

    /// Sends a request and waits for the response headers. Returns every status except redirects, which are errors,
    /// because following a redirect would send the key to another server.
    pub async fn send(&self, outgoing: OutgoingRequest) -> Result<ResponseStream, Box<ModelError>> {
        let url = self.base.route(&outgoing.route);
        let key = match outgoing.with_key {
            true => self.keys.key_for(&url).await.map_err(|e| explained(e.into()))?,
            false => None,
        };
        let sent = self.send_with(outgoing, url, key.as_deref()).await;
        let sent =
            sent.map_err(|e| Box::new(e.explained(&ResponseHead::default(), key.as_deref())))?;
        if sent.status() == StatusCode::UNAUTHORIZED && key.is_some() {
            self.keys.refused().await;
        }
        let head = ResponseHead::read(sent.status(), sent.headers());
        if sent.status().is_redirection() {
            let trouble = self.redirection(sent.headers());
            return Err(Box::new(trouble.explained(&head, key.as_deref())));
        }
        Ok(ResponseStream::new(sent, head, key, &self.base, self.limits.idle))
    }

    async fn send_with(
        &self,
        outgoing: OutgoingRequest,
        mut url: Url,
        key: Option<&ApiKey>,
    ) -> Result<Response, ProviderTrouble> {
        url.set_query(outgoing.query.as_deref());
        let mut headers = outgoing.headers;
        // Answers are read or forwarded as they arrive, so they must not be compressed.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(key) = key {
            let (name, prefix) = self.provider.key_header();
            headers.insert(name, key.header(prefix)?);
        }
        let client = self.client.get(&self.base, &self.limits)?;
        let request = client.request(outgoing.method, url).headers(headers).body(outgoing.body);
        let sent = timeout(self.limits.idle, request.send()).await;
        let sent = sent.map_err(|_| silence(self.limits.idle, "no response headers"))?;
        sent.map_err(|e| ProviderTrouble::of_transport(&e, &self.base.origin()))
    }

    /// Returns an error that names only the origin, because the rest of the address may contain secrets.
    fn redirection(&self, headers: &HeaderMap) -> ProviderTrouble {
        let to = headers.get(LOCATION).and_then(|to| to.to_str().ok());
        let target = to.and_then(|to| self.base.url().join(to).ok());
        let origin = target.map(|url| url.origin().ascii_serialization());
        let origin = origin.unwrap_or_else(|| "an unknown address".to_owned());
        let what = format!(
            "the server redirects to {origin}, but bethink never follows redirects; correct the provider's URL in the settings"
        );
        ProviderTrouble::Detected(ErrorClass::Forbidden, what)
    }
}

fn silence(limit: Duration, what: &str) -> ProviderTrouble {
    ProviderTrouble::Silent(format!("{what} arrived within {} ms", limit.as_millis()))
}

fn explained(trouble: ProviderTrouble) -> Box<ModelError> {
    Box::new(trouble.explained(&ResponseHead::default(), None))
}

/// A response whose headers have arrived. Dropping it cancels the request.
pub struct ResponseStream {
    pub status: StatusCode,
    /// Response headers, except those that contain the key.
    pub headers: HeaderMap,
    pub(crate) head: ResponseHead,
    /// The first bytes, if `look` has read them already.
    first: Option<Bytes>,
    body: Body,
    pub(crate) key: Option<Arc<ApiKey>>,
    origin: String,
    idle: Duration,
    last_data: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl ResponseStream {
    fn new(
        response: Response,
        head: ResponseHead,
        key: Option<Arc<ApiKey>>,
        base: &Base,
        idle: Duration,
    ) -> Self {
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
            head,
            first: None,
            body: Body::from(response),
            key,
            origin: base.origin(),
            idle,
            last_data: Instant::now(),
            alarm: Box::pin(tokio::time::sleep(idle)),
        }
    }

    /// Returns the next bytes, unchanged; `None` at the end.
    pub fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Box<ModelError>>>> {
        self.poll_bytes(context).map_err(explained)
    }

    pub(crate) fn poll_bytes(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, ProviderTrouble>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        loop {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.last_data = Instant::now();
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    let trouble = ProviderTrouble::of_transport(&error, &self.origin);
                    return Poll::Ready(Some(Err(trouble)));
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return self.poll_silence(context).map(|e| Some(Err(e))),
            }
        }
    }

    /// Returns an error if no data has arrived for too long. The timer is reset only when it fires, not for every
    /// piece.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<ProviderTrouble> {
        while self.alarm.as_mut().poll(context).is_ready() {
            let until = self.last_data + self.idle;
            if until <= Instant::now() {
                return Poll::Ready(silence(self.idle, "no more of the answer"));
            }
            self.alarm.as_mut().reset(until);
        }
        Poll::Pending
    }

    /// Waits for the first bytes of a stream without consuming them. Returns the error, as JSON, if the stream begins
    /// with one.
    pub async fn look(&mut self) -> Result<Option<String>, Box<ModelError>> {
        if !matches!(kind(&self.headers), BodyKind::Events) || self.first.is_some() {
            return Ok(None);
        }
        let first = std::future::poll_fn(|context| self.poll_data(context)).await;
        let first = first.unwrap_or_else(|| {
            Err(explained(ProviderTrouble::broken("the stream ended without any data")))
        })?;
        let error = first_error(&first);
        self.first = Some(first);
        Ok(error)
    }

    /// Reads the whole body of at most `most` bytes, and removes the key from it.
    pub async fn whole(&mut self, most: usize) -> Result<Bytes, Box<ModelError>> {
        let mut body = Vec::new();
        while let Some(data) = std::future::poll_fn(|context| self.poll_data(context)).await {
            body.extend_from_slice(&data?);
            if body.len() > most {
                let what = format!("the error response has more than {most} bytes");
                return Err(explained(ProviderTrouble::Detected(ErrorClass::TooMuch, what)));
            }
        }
        let clean = self.key.as_deref().and_then(|key| scrubbed(&body, key));
        Ok(clean.map_or_else(|| Bytes::from(body), Bytes::from))
    }
}

/// Returns the error that a stream begins with, as JSON; `None` if it begins with something else.
fn first_error(bytes: &[u8]) -> Option<String> {
    let mut events = Vec::new();
    Decoder::new(MAX_REFUSAL).push(bytes, &mut events).ok()?;
    let first = events.into_iter().find(|event| !BEFORE_AN_ERROR.contains(&event.kind.as_str()))?;
    ProviderRefusal::in_answer(&first.data).map(|_| first.data)
}

impl std::fmt::Debug for ResponseStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseStream").field("status", &self.status).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
