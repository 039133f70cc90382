//! One request, from a client to its provider and back.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use bethink_config::GatewaySettings;
use bethink_model_http::{Letter, Passing, Provider};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, StatusCode};

use crate::asker::ClientIdentity;
use crate::body;
use crate::conversation::{
    AnswerOutcome, GatewayRequest, PreparedPrompt, ProviderResponse, UpstreamPrompt,
};
use crate::envelope::{GatewayWire, WireEnvelope};
use crate::fault::GatewayFault;
use crate::planner::PromptPlanner;
use crate::relay;
use crate::upstream::{Upstream, Way};

/// Read of a refusal. Providers' are a few hundred bytes; a web page of a proxy has some ten thousand.
const MAX_REFUSAL: usize = 1 << 20;
/// Smaller prompts that are tried after a refused one. A first one fits where the refusal names a limit, a second one
/// where it does not.
const SMALLER_TRIES: usize = 2;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Gateway<M> {
    planner: M,
    anthropic: Upstream,
    openai: Upstream,
    max_body_bytes: u64,
}

impl<M: PromptPlanner> Gateway<M> {
    pub(crate) fn new(planner: M, settings: &GatewaySettings) -> Arc<Self> {
        Arc::new(Self {
            planner,
            anthropic: Upstream::new(Provider::Anthropic, settings),
            openai: Upstream::new(Provider::OpenAi, settings),
            max_body_bytes: settings.max_body_bytes,
        })
    }

    fn upstream(&self, provider: Provider) -> &Upstream {
        match provider {
            Provider::Anthropic => &self.anthropic,
            Provider::OpenAi => &self.openai,
        }
    }

    /// A request for an answer.
    pub(crate) async fn ask<W: GatewayWire>(
        &self,
        request: Request,
        route: &'static str,
    ) -> Result<Response, GatewayFault> {
        let sent = self.read::<W>(request, route).await?;
        let mut prepared = None;
        if let Some((asked, request)) = sent.parsed {
            prepared =
                known(self.planner.prepare(request).await)?.map(|prepared| (asked, prepared));
        }
        let Some((asked, PreparedPrompt { ticket, mut prompt })) = prepared else {
            return Ok(relay::plain(self.send(W::PROVIDER, sent.letter).await?));
        };
        let mut pending = PendingAnswer::new(self.planner.clone(), ticket);
        let mut tries = 0;
        loop {
            let body = body_of(&asked, &prompt, &sent.letter.body)?;
            let letter = Letter { body, ..sent.letter.clone() };
            let mut passing =
                self.send(W::PROVIDER, letter).await.inspect_err(|_| pending.broken())?;
            let refused = refusal_of(&mut passing).await.inspect_err(|_| pending.broken())?;
            let smaller = match &refused {
                Some((status, text)) if tries < SMALLER_TRIES && may_be_too_long(*status) => {
                    pending.smaller(*status, text).await
                }
                _ => None,
            };
            match (smaller, refused) {
                (Some(next), _) => prompt = next,
                (None, Some((_, text))) if !passing.status.is_success() => {
                    pending.broken();
                    return Ok(relay::refusal(&passing, text));
                }
                (None, _) => {
                    pending.accepted();
                    return Ok(relay::heard(W::PROVIDER, passing, pending));
                }
            }
            tries += 1;
        }
    }

    /// A request for the size of a prompt: of the one that would go up.
    pub(crate) async fn count<W: GatewayWire>(
        &self,
        request: Request,
        route: &'static str,
    ) -> Result<Response, GatewayFault> {
        let mut sent = self.read::<W>(request, route).await?;
        if let Some((asked, request)) = sent.parsed.take()
            && let Some(prompt) = known(self.planner.count(request).await)?
        {
            sent.letter.body = body_of(&asked, &prompt, &sent.letter.body)?;
        }
        Ok(relay::plain(self.send(W::PROVIDER, sent.letter).await?))
    }

    /// A request that has nothing to do with a session.
    pub(crate) async fn pass(
        &self,
        provider: Provider,
        request: Request,
        route: &'static str,
    ) -> Result<Response, GatewayFault> {
        let (letter, _) = self.receive(provider, request, route).await?;
        Ok(relay::plain(self.send(provider, letter).await?))
    }

    async fn read<W: GatewayWire>(
        &self,
        request: Request,
        route: &'static str,
    ) -> Result<IncomingRequest<W>, GatewayFault> {
        let (letter, headers) = self.receive(W::PROVIDER, request, route).await?;
        let parsed = match WireEnvelope::<W>::read(&letter.body) {
            Some(asked) => {
                let request =
                    asked.request(ClientIdentity::read(W::PROVIDER, &headers, asked.named())?);
                (!request.messages.is_empty()).then_some((asked, request))
            }
            None => None,
        };
        Ok(IncomingRequest { letter, parsed })
    }

    /// The request as it goes up, and what the client's headers were.
    async fn receive(
        &self,
        provider: Provider,
        request: Request,
        route: &'static str,
    ) -> Result<(Letter, HeaderMap), GatewayFault> {
        let (parts, body) = request.into_parts();
        // Who can't be let up is told so before a large body is read, and before anything is kept.
        let mut letter = self.upstream(provider).letter(&parts, route, way(&parts))?;
        letter.body = body::read(body, &parts.headers, self.max_body_bytes).await?;
        Ok((letter, parts.headers))
    }

    async fn send(&self, provider: Provider, letter: Letter) -> Result<Passing, GatewayFault> {
        let (wire, route) = (provider.as_str(), letter.route);
        let sent = self.upstream(provider).forwarder()?.send(letter).await;
        match &sent {
            Ok(passing) => {
                let status = passing.status.as_u16();
                tracing::debug!(wire, route, status, "passed on");
            }
            Err(error) => {
                tracing::warn!(wire, route, %error, "got no answer from the upstream");
            }
        }
        let outcome = if sent.is_ok() { "answered" } else { "failed" };
        metrics::counter!("bethink_gateway_requests_total", "wire" => wire, "outcome" => outcome)
            .increment(1);
        sent.map_err(|error| GatewayFault::of_upstream(&error))
    }
}

/// What a capability's route has in its path, and no other route.
fn way(parts: &Parts) -> Way {
    if parts.uri.path().contains("/k/") { Way::Capability } else { Way::Token }
}

/// A request that was read.
struct IncomingRequest<W> {
    letter: Letter,
    parsed: Option<(WireEnvelope<W>, GatewayRequest)>,
}

/// What the memory said. Where it is the memory that fails, the client's own request goes up: work goes on, and
/// nothing of it is kept.
fn known<T>(said: bethink_service::Result<T>) -> Result<Option<T>, GatewayFault> {
    match said {
        Ok(said) => Ok(Some(said)),
        Err(refusal) => match GatewayFault::of_refusal(&refusal) {
            Some(fault) => Err(fault),
            None => {
                tracing::warn!(%refusal, "forwarded a request without memory");
                Ok(None)
            }
        },
    }
}

fn body_of<W: GatewayWire>(
    asked: &WireEnvelope<W>,
    prompt: &UpstreamPrompt,
    own: &Bytes,
) -> Result<Bytes, GatewayFault> {
    match prompt {
        UpstreamPrompt::Unchanged => Ok(own.clone()),
        UpstreamPrompt::Changed { system_added, messages } => {
            let changed = asked.changed(system_added.as_deref(), messages);
            changed.ok_or_else(|| {
                let what = "bethink could not write the prompt in the client's format";
                GatewayFault::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", what).in_vain()
            })
        }
    }
}

/// A refusal, read as a whole: behind a status of its own, or as the first event of a stream, before a byte of which
/// went on. Until then a broken connection is an error that can be told, and afterwards one that cuts the answer off.
async fn refusal_of(passing: &mut Passing) -> Result<Option<(StatusCode, Bytes)>, GatewayFault> {
    let read = if passing.status.is_success() {
        let error = passing.look().await;
        error.map(|error| error.map(|json| (StatusCode::BAD_REQUEST, Bytes::from(json))))
    } else {
        let status = passing.status;
        passing.whole(MAX_REFUSAL).await.map(|text| Some((status, text)))
    };
    read.map_err(|error| GatewayFault::of_upstream(&error))
}

/// Everything that providers answer to a prompt that is too long, among other things.
fn may_be_too_long(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 413 | 422)
}

/// A request that the memory waits to hear of. Whatever becomes of it, it is told once.
#[derive(Debug)]
pub(crate) struct PendingAnswer<M: PromptPlanner> {
    planner: M,
    ticket: Option<M::Ticket>,
}

impl<M: PromptPlanner> PendingAnswer<M> {
    pub(crate) fn new(planner: M, ticket: M::Ticket) -> Self {
        Self { planner, ticket: Some(ticket) }
    }

    pub(crate) fn heard(&mut self, response: ProviderResponse) {
        if let Some(ticket) = self.ticket.take() {
            self.planner.heard(ticket, response);
        }
    }

    fn accepted(&self) {
        self.ticket.iter().for_each(|ticket| self.planner.accepted(ticket));
    }

    fn broken(&mut self) {
        self.heard(ProviderResponse { message: None, outcome: AnswerOutcome::Broken });
    }

    /// A smaller prompt in place of a refused one.
    async fn smaller(&mut self, status: StatusCode, refusal: &[u8]) -> Option<UpstreamPrompt> {
        let text = String::from_utf8_lossy(refusal);
        let ticket = self.ticket.as_ref()?;
        match self.planner.refused(ticket, status.as_u16(), &text).await {
            Ok(next) => {
                let next = next?;
                self.ticket = Some(next.ticket);
                Some(next.prompt)
            }
            Err(refusal) => {
                tracing::warn!(%refusal, "could not make a smaller prompt");
                None
            }
        }
    }
}

/// Dropped before its end, the client has gone.
impl<M: PromptPlanner> Drop for PendingAnswer<M> {
    fn drop(&mut self) {
        self.heard(ProviderResponse { message: None, outcome: AnswerOutcome::Cancelled });
    }
}

#[cfg(test)]
mod tests;
