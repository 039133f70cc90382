//! Forwards one request to its provider, and the answer to the client.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use bethink_config::GatewaySettings;
use bethink_intake::BodyRoom;
use bethink_model_http::{OutgoingRequest, Provider, ResponseStream, WireFormat, open_for_client};
use bethink_models::ClientModel;
use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::request::Parts;
use http::{HeaderMap, StatusCode};

use crate::body;
use crate::compression::BodyEncoding;
use crate::conversation::{
    AnswerOutcome, GatewayRequest, PreparedPrompt, ProviderResponse, UpstreamPrompt,
};
use crate::envelope::{GatewayWire, WireEnvelope};
use crate::fault::GatewayFault;
use crate::planner::PromptPlanner;
use crate::relay;
use crate::upstream::{ClientAuth, Upstream};

/// Maximum size of an error response, in bytes. Providers send a few hundred bytes; an error page from a proxy has
/// about ten thousand.
const MAX_REFUSAL: usize = 1 << 20;
/// Number of smaller prompts to try after the provider has refused the original prompt. If the error states the limit, the
/// first smaller prompt fits; otherwise, the second one does.
const SMALLER_TRIES: usize = 2;

/// The state that all requests share.
#[derive(Debug)]
pub(crate) struct Gateway<M> {
    planner: M,
    anthropic: Upstream,
    openai: Upstream,
    gemini: Upstream,
    max_body_bytes: u64,
    /// Whether the clients' own models write the summaries of their sessions.
    client_summaries: bool,
}

impl<M: PromptPlanner> Gateway<M> {
    pub(crate) fn new(planner: M, settings: &GatewaySettings) -> Arc<Self> {
        Arc::new(Self {
            planner,
            anthropic: Upstream::new(Provider::Anthropic, settings),
            openai: Upstream::new(Provider::OpenAi, settings),
            gemini: Upstream::new(Provider::Gemini, settings),
            max_body_bytes: settings.max_body_bytes,
            client_summaries: settings.compaction == "client",
        })
    }

    fn upstream(&self, provider: Provider) -> &Upstream {
        match provider {
            Provider::Anthropic => &self.anthropic,
            Provider::OpenAi => &self.openai,
            Provider::Gemini => &self.gemini,
        }
    }

    /// Handles a request for a model's answer.
    pub(crate) async fn ask<W: GatewayWire>(
        &self,
        request: Request,
        route: &str,
    ) -> Result<Response, GatewayFault> {
        let sent = self.read::<W>(request, route).await?;
        let mut prepared = None;
        if let Some((envelope, mut request)) = sent.parsed {
            match none_if_failed(self.planner.unrecorded(&request).await)? {
                Some(None) => {}
                not_recorded => {
                    let prompt = not_recorded.flatten().unwrap_or(UpstreamPrompt::Unchanged);
                    let outgoing = outgoing_with(&envelope, &prompt, &sent.outgoing)?;
                    return Ok(relay::unrecorded(self.send(W::PROVIDER, outgoing).await?));
                }
            }
            request.client_model = self.client_model(&envelope, &sent.outgoing);
            prepared = none_if_failed(self.planner.prepare(request).await)?
                .map(|prepared| (envelope, prepared));
        }
        let Some((envelope, PreparedPrompt { ticket, mut prompt })) = prepared else {
            return Ok(relay::unrecorded(self.send(W::PROVIDER, sent.outgoing).await?));
        };
        let mut pending = PendingAnswer::new(self.planner.clone(), ticket);
        let mut tries = 0;
        loop {
            let outgoing = outgoing_with(&envelope, &prompt, &sent.outgoing)?;
            let mut upstream =
                self.send(W::PROVIDER, outgoing).await.inspect_err(|_| pending.fail())?;
            let refused = refusal_of(&mut upstream).await.inspect_err(|_| pending.fail())?;
            let smaller = match &refused {
                Some((status, text)) if tries < SMALLER_TRIES && may_be_too_long(*status) => {
                    pending.smaller(*status, text).await
                }
                _ => None,
            };
            match (smaller, refused) {
                (Some(next), _) => prompt = next,
                (None, Some((_, text))) if !upstream.status.is_success() => {
                    pending.fail();
                    return Ok(relay::refusal(&upstream, text));
                }
                (None, _) => {
                    pending.accepted();
                    return Ok(relay::recorded(W::format(&envelope), upstream, pending));
                }
            }
            tries += 1;
        }
    }

    /// Returns the model that the client's request is for, if that model is to write summaries.
    fn client_model<W: GatewayWire>(
        &self,
        envelope: &WireEnvelope<W>,
        outgoing: &OutgoingRequest,
    ) -> Option<ClientModel> {
        // bethink's own calls do not use the Responses API.
        let is_wanted = self.client_summaries && W::format(envelope) != WireFormat::Responses;
        let server = self.upstream(W::PROVIDER).forwarder().ok().filter(|_| is_wanted)?;
        let mut client = OutgoingRequest { body: Bytes::new(), ..outgoing.clone() };
        // The bodies of bethink's own calls are not compressed.
        client.headers.remove(CONTENT_ENCODING);
        let model = open_for_client(Arc::clone(server), client)?;
        Some(ClientModel::new(model, envelope.model.clone()))
    }

    /// Handles a request for a token count: counts the prompt that would be sent.
    pub(crate) async fn count<W: GatewayWire>(
        &self,
        request: Request,
        route: &str,
    ) -> Result<Response, GatewayFault> {
        let mut sent = self.read::<W>(request, route).await?;
        if let Some((envelope, request)) = sent.parsed.take()
            && let Some(prompt) = none_if_failed(self.planner.count(request).await)?
        {
            sent.outgoing = outgoing_with(&envelope, &prompt, &sent.outgoing)?;
        }
        Ok(relay::unrecorded(self.send(W::PROVIDER, sent.outgoing).await?))
    }

    /// Forwards a request that does not belong to a session.
    pub(crate) async fn pass(
        &self,
        provider: Provider,
        request: Request,
        route: &str,
    ) -> Result<Response, GatewayFault> {
        let (outgoing, _, _room) = self.receive(provider, request, route).await?;
        Ok(relay::unrecorded(self.send(provider, outgoing).await?))
    }

    async fn read<W: GatewayWire>(
        &self,
        request: Request,
        route: &str,
    ) -> Result<IncomingRequest<W>, GatewayFault> {
        let encoding = BodyEncoding::of(request.headers())?;
        let (outgoing, headers, mut room) = self.receive(W::PROVIDER, request, route).await?;
        let decoded = encoding.decoded(&outgoing.body, self.max_body_bytes, &mut room).await?;
        let body = decoded.as_ref().unwrap_or(&outgoing.body);
        let parsed = match WireEnvelope::<W>::read(route, body) {
            Some(envelope) => {
                let taken = outgoing.body.len() + decoded.as_ref().map_or(0, Bytes::len);
                self.with_history(envelope, taken, &mut room).await?
            }
            None => None,
        };
        let parsed = match parsed {
            Some(envelope) => {
                let request = envelope.request(&headers)?;
                let is_aside = request.asks_for_title() || W::is_side_request(&envelope, &headers);
                let is_recorded = !request.messages.is_empty() && !is_aside;
                is_recorded.then_some((envelope, request))
            }
            None => None,
        };
        Ok(IncomingRequest { outgoing, parsed, _room: room })
    }

    /// Adds the earlier messages to a request that continues an answer by its ID; `None` if that answer is unknown.
    /// Their size is added to the `taken` bytes for which memory is reserved.
    async fn with_history<W: GatewayWire>(
        &self,
        mut envelope: WireEnvelope<W>,
        taken: usize,
        room: &mut BodyRoom,
    ) -> Result<Option<WireEnvelope<W>>, GatewayFault> {
        let Some(previous) = W::previous(&envelope) else { return Ok(Some(envelope)) };
        let found = none_if_failed(self.planner.history_through(previous).await)?.flatten();
        let Some(history) = found else { return Ok(None) };
        if !room.grow((taken + history.bytes()) as u64).await {
            return Err(GatewayFault::busy());
        }
        W::precede(&mut envelope, history);
        Ok(Some(envelope))
    }

    /// Returns the request to send, the client's original headers, and the memory that is reserved for the body.
    async fn receive(
        &self,
        provider: Provider,
        request: Request,
        route: &str,
    ) -> Result<(OutgoingRequest, HeaderMap, BodyRoom), GatewayFault> {
        let (parts, body) = request.into_parts();
        // Fails before a large body is read if the request cannot be forwarded.
        let mut outgoing = self.upstream(provider).outgoing(&parts, route, client_auth(&parts))?;
        let received = body::read(body, &parts, self.max_body_bytes).await?;
        outgoing.body = received.bytes;
        Ok((outgoing, parts.headers, received.room))
    }

    async fn send(
        &self,
        provider: Provider,
        outgoing: OutgoingRequest,
    ) -> Result<ResponseStream, GatewayFault> {
        let (wire, route) = (provider.as_str(), outgoing.route.clone());
        let sent = self.upstream(provider).forwarder()?.send(outgoing).await;
        match &sent {
            Ok(upstream) => {
                let status = upstream.status.as_u16();
                tracing::debug!(wire, %route, status, "forwarded a request");
            }
            Err(error) => {
                tracing::warn!(wire, %route, %error, "got no answer from the provider");
            }
        }
        let outcome = if sent.is_ok() { "answered" } else { "failed" };
        metrics::counter!("bethink_gateway_requests_total", "wire" => wire, "outcome" => outcome)
            .increment(1);
        sent.map_err(|error| GatewayFault::from_upstream(&error))
    }
}

/// Returns how the client was authenticated. A capability follows `/PROVIDER/k/`.
fn client_auth(parts: &Parts) -> ClientAuth {
    match parts.uri.path().split('/').nth(2) {
        Some("k") => ClientAuth::Capability,
        _ => ClientAuth::Token,
    }
}

/// A client's request; `parsed` is `None` if its messages cannot be read, or must not be recorded.
struct IncomingRequest<W> {
    outgoing: OutgoingRequest,
    parsed: Option<(WireEnvelope<W>, GatewayRequest)>,
    /// Held until the provider's answer begins, because the body has been sent by then.
    _room: BodyRoom,
}

/// Returns `None` if bethink itself failed: the client's request is then forwarded unchanged and not stored.
fn none_if_failed<T>(result: bethink_service::Result<T>) -> Result<Option<T>, GatewayFault> {
    match result {
        Ok(prepared) => Ok(Some(prepared)),
        Err(refusal) => match GatewayFault::from_service(&refusal) {
            Some(fault) => Err(fault),
            None => {
                tracing::warn!(%refusal, "could not process a request; forwarding it unchanged");
                Ok(None)
            }
        },
    }
}

/// Returns the request with this prompt. A changed body is not compressed, even if the client's was.
fn outgoing_with<W: GatewayWire>(
    envelope: &WireEnvelope<W>,
    prompt: &UpstreamPrompt,
    own: &OutgoingRequest,
) -> Result<OutgoingRequest, GatewayFault> {
    let mut outgoing = own.clone();
    if let UpstreamPrompt::Changed { system_added, messages } = prompt {
        outgoing.body = envelope.changed(system_added.as_deref(), messages).ok_or_else(|| {
            let what = "bethink could not write the prompt in the client's format";
            GatewayFault::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", what).no_retry()
        })?;
        outgoing.headers.remove(CONTENT_ENCODING);
    }
    Ok(outgoing)
}

/// Reads a refusal: a response with an error status, or an error as the first event of a stream. Nothing has been sent
/// to the client yet, so a lost connection can still be reported as an error.
async fn refusal_of(
    upstream: &mut ResponseStream,
) -> Result<Option<(StatusCode, Bytes)>, GatewayFault> {
    let read = if upstream.status.is_success() {
        let error = upstream.look().await;
        error.map(|error| error.map(|json| (StatusCode::BAD_REQUEST, Bytes::from(json))))
    } else {
        let status = upstream.status;
        upstream.whole(MAX_REFUSAL).await.map(|text| Some((status, text)))
    };
    read.map_err(|error| GatewayFault::from_upstream(&error))
}

/// Returns whether a provider may use this status for a prompt that is too long.
fn may_be_too_long(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 413 | 422)
}

/// A forwarded request whose outcome is reported to the planner exactly once, even if it is dropped.
#[derive(Debug)]
pub(crate) struct PendingAnswer<M: PromptPlanner> {
    planner: M,
    ticket: Option<M::Ticket>,
}

impl<M: PromptPlanner> PendingAnswer<M> {
    pub(crate) fn new(planner: M, ticket: M::Ticket) -> Self {
        Self { planner, ticket: Some(ticket) }
    }

    pub(crate) fn finish(&mut self, response: ProviderResponse) {
        if let Some(ticket) = self.ticket.take() {
            self.planner.answered(ticket, response);
        }
    }

    fn accepted(&self) {
        self.ticket.iter().for_each(|ticket| self.planner.accepted(ticket));
    }

    fn fail(&mut self) {
        self.finish(ProviderResponse { message: None, outcome: AnswerOutcome::Broken });
    }

    /// Returns a smaller prompt after a refusal.
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
                tracing::warn!(%refusal, "could not shrink the prompt that the provider refused");
                None
            }
        }
    }
}

/// If the answer is still pending, the client has disconnected.
impl<M: PromptPlanner> Drop for PendingAnswer<M> {
    fn drop(&mut self) {
        self.finish(ProviderResponse { message: None, outcome: AnswerOutcome::Cancelled });
    }
}

#[cfg(test)]
mod tests;
