//! The line to one server: a request goes out once, with its key and within its limits, and what comes back
//! is read piece by piece.

use std::sync::Arc;
use std::time::Duration;

use bethink_model::{Class, ModelError};
use bytes::Bytes;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap};
use reqwest::{Response, StatusCode, Url};
use tokio::time::timeout;

use crate::base::Base;
use crate::call::{Dialect, Parcel};
use crate::connect::Connector;
use crate::head::{self, Head, Kind};
use crate::key::{Keeper, Key};
use crate::limits::{Limits, MAX_REFUSAL};
use crate::trouble::{Refusal, Trouble};

#[derive(Debug)]
pub(crate) struct Line {
    base: Base,
    keeper: Keeper,
    limits: Limits,
    client: Connector,
}

impl Line {
    pub(crate) fn new(base: Base, keeper: Keeper, limits: Limits) -> Self {
        Self { base, keeper, limits, client: Connector::new() }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sends `parcel` and waits for the head of the answer. Everything but a success is an error here.
    pub(crate) async fn post(
        &self,
        dialect: &impl Dialect,
        parcel: Parcel,
    ) -> Result<Incoming, Box<ModelError>> {
        let url = self.base.route(parcel.route);
        let key = self.keeper.key_for(&url).await;
        let key =
            key.map_err(|e| Box::new(Trouble::from(e).explained(&Head::default(), None, false)))?;
        let fail = |trouble: Trouble, head: &Head| {
            Box::new(trouble.explained(head, key.as_deref(), false))
        };
        let sent = self.send(dialect, parcel, url, key.as_deref()).await;
        let response = sent.map_err(|trouble| fail(trouble, &Head::default()))?;
        let head = Head::read(response.status(), response.headers());
        if response.status() == StatusCode::UNAUTHORIZED {
            self.keeper.refused().await;
        }
        let incoming = Incoming { response, head, key: key.clone(), limits: self.limits, taken: 0 };
        incoming.admitted(self.base.url()).await
    }

    async fn send(
        &self,
        dialect: &impl Dialect,
        parcel: Parcel,
        url: Url,
        key: Option<&Key>,
    ) -> Result<Response, Trouble> {
        let accept = if parcel.streamed { "text/event-stream" } else { "application/json" };
        let mut request = self
            .client
            .get(&self.base, &self.limits)?
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accept)
            .header(ACCEPT_ENCODING, "identity");
        for (name, value) in dialect.headers() {
            request = request.header(*name, *value);
        }
        if let Some(key) = key {
            let (name, prefix) = dialect.key_header();
            request = request.header(name, key.header(prefix)?);
        }
        let sent = timeout(self.limits.idle, request.body(parcel.body).send()).await;
        let sent = sent.map_err(|_| silence(self.limits.idle, "the head of an answer"))?;
        sent.map_err(|e| Trouble::of_transport(&e, &self.base.origin()))
    }
}

pub(crate) fn silence(limit: Duration, of: &str) -> Trouble {
    Trouble::Found(Class::TimedOut, format!("nothing of {of} came for {} ms", limit.as_millis()))
}

/// An answer whose head has come.
pub(crate) struct Incoming {
    response: Response,
    head: Head,
    key: Option<Arc<Key>>,
    limits: Limits,
    taken: usize,
}

impl Incoming {
    pub(crate) fn kind(&self) -> Kind {
        head::kind(self.response.headers())
    }

    pub(crate) fn explained(&self, trouble: Trouble, heard: bool) -> Box<ModelError> {
        Box::new(trouble.explained(&self.head, self.key.as_deref(), heard))
    }

    /// The next bytes; `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Trouble> {
        let chunk = timeout(self.limits.idle, self.response.chunk()).await;
        let chunk = chunk.map_err(|_| silence(self.limits.idle, "the answer"))?;
        let chunk = chunk.map_err(|e| {
            Trouble::of_transport(&e, &self.response.url().origin().ascii_serialization())
        })?;
        self.taken = self.taken.saturating_add(chunk.as_ref().map_or(0, Bytes::len));
        if self.taken > self.limits.answer {
            return Err(Trouble::too_much("the answer", self.limits.answer));
        }
        Ok(chunk)
    }

    /// All that comes.
    pub(crate) async fn whole(&mut self) -> Result<Vec<u8>, Trouble> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    async fn admitted(mut self, base: &Url) -> Result<Self, Box<ModelError>> {
        let status = self.response.status();
        if status.is_redirection() {
            let trouble = redirection(self.response.headers(), base);
            return Err(self.explained(trouble, false));
        }
        if let Some(encoding) = head::encoding(self.response.headers()) {
            let trouble = self.compressed(status, &encoding);
            return Err(self.explained(trouble, false));
        }
        if !status.is_success() {
            let body = self.beginning().await;
            return Err(self.explained(Trouble::Refused(Refusal::of_body(&body)), false));
        }
        Ok(self)
    }

    fn compressed(&self, status: StatusCode, encoding: &str) -> Trouble {
        let message = format!("the answer is compressed ({encoding}), which was not asked for");
        if status.is_success() {
            return Trouble::broken(message);
        }
        Trouble::Refused(Refusal { message, ..Refusal::default() })
    }

    /// As much of a refusal as is read; one that breaks off still has its status.
    async fn beginning(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < MAX_REFUSAL {
            match self.chunk().await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) | Err(_) => break,
            }
        }
        body.truncate(MAX_REFUSAL);
        body
    }
}

/// Only the origin is told: the rest of an address may hold anything.
pub(crate) fn redirection(headers: &HeaderMap, base: &Url) -> Trouble {
    let target = head::location(headers).and_then(|to| base.join(to).ok());
    let origin = target.map(|url| url.origin().ascii_serialization());
    let origin = origin.unwrap_or_else(|| "nowhere".to_owned());
    let what =
        format!("the server redirects to {origin}; redirects are never followed, set base_url");
    Trouble::Found(Class::Forbidden, what)
}

#[cfg(test)]
mod tests;
