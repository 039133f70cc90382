//! One request, from a client to its provider and back.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use bethink_config::GatewaySettings;
use bethink_daemon::{Heard, Outcome, Prompt, Told};
use bethink_model_http::{Letter, Passing};
use bytes::Bytes;
use http::StatusCode;

use crate::asker::Asker;
use crate::body;
use crate::envelope::Envelope;
use crate::fault::Fault;
use crate::limits::{MAX_REFUSAL, SMALLER_TRIES};
use crate::memory::{Memory, Plan};
use crate::relay;
use crate::upstream::{Upstream, Way};
use crate::wire::Wire;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Gateway<M> {
    memory: M,
    anthropic: Upstream,
    openai: Upstream,
    max_body_bytes: u64,
    /// For clients that say nothing of it.
    inject: String,
}

impl<M: Memory> Gateway<M> {
    pub(crate) fn new(memory: M, settings: &GatewaySettings) -> Arc<Self> {
        Arc::new(Self {
            memory,
            anthropic: Upstream::new(Wire::Anthropic, settings),
            openai: Upstream::new(Wire::OpenAi, settings),
            max_body_bytes: settings.max_body_bytes,
            inject: settings.inject.clone(),
        })
    }

    fn upstream(&self, wire: Wire) -> &Upstream {
        match wire {
            Wire::Anthropic => &self.anthropic,
            Wire::OpenAi => &self.openai,
        }
    }

    /// A request for an answer.
    pub(crate) async fn ask<E: Envelope>(
        &self,
        request: Request,
        route: &'static str,
        way: Way,
    ) -> Result<Response, Fault> {
        let sent = self.read::<E>(request, route, way).await?;
        let Some((asked, told)) = sent.told else {
            let passing = self.send(E::WIRE, sent.letter).await?;
            return Ok(relay::plain(passing));
        };
        let Some(Plan { ticket, mut prompt }) = known(self.memory.prepare(told).await)? else {
            let passing = self.send(E::WIRE, sent.letter).await?;
            return Ok(relay::plain(passing));
        };
        let mut turn = Turn::new(self.memory.clone(), ticket);
        let mut tries = 0;
        loop {
            let letter = sent.letter.with_body(body_of(&asked, &prompt, &sent.letter.body)?);
            let mut passing = self.send(E::WIRE, letter).await.inspect_err(|_| turn.broken())?;
            let refused = refusal_of(&mut passing).await.inspect_err(|_| turn.broken())?;
            let smaller = match &refused {
                Some((status, text)) if tries < SMALLER_TRIES && may_be_too_long(*status) => {
                    turn.smaller(*status, text).await
                }
                _ => None,
            };
            match (smaller, refused) {
                (Some(next), _) => prompt = next,
                (None, Some((_, text))) if !passing.status.is_success() => {
                    turn.broken();
                    return Ok(relay::refusal(&passing, text));
                }
                (None, _) => {
                    turn.accepted();
                    return Ok(relay::heard(E::WIRE, passing, turn));
                }
            }
            tries += 1;
        }
    }

    /// A request for the size of a prompt: of the one that would go up.
    pub(crate) async fn count<E: Envelope>(
        &self,
        request: Request,
        route: &'static str,
        way: Way,
    ) -> Result<Response, Fault> {
        let mut sent = self.read::<E>(request, route, way).await?;
        if let Some((asked, told)) = sent.told.take()
            && let Some(prompt) = known(self.memory.count(told).await)?
        {
            sent.letter.body = body_of(&asked, &prompt, &sent.letter.body)?;
        }
        Ok(relay::plain(self.send(E::WIRE, sent.letter).await?))
    }

    /// A request that has nothing to do with a session.
    pub(crate) async fn pass(
        &self,
        wire: Wire,
        request: Request,
        route: &'static str,
        way: Way,
    ) -> Result<Response, Fault> {
        let (parts, body) = request.into_parts();
        let mut letter = self.upstream(wire).letter(&parts, route, way)?;
        letter.body = body::read(body, &parts.headers, self.max_body_bytes).await?;
        Ok(relay::plain(self.send(wire, letter).await?))
    }

    async fn read<E: Envelope>(
        &self,
        request: Request,
        route: &'static str,
        way: Way,
    ) -> Result<Sent<E>, Fault> {
        let (parts, body) = request.into_parts();
        // Who can't be let up is told so before a large body is read, and before anything is kept.
        let mut letter = self.upstream(E::WIRE).letter(&parts, route, way)?;
        let body = body::read(body, &parts.headers, self.max_body_bytes).await?;
        letter.body = body.clone();
        let told = match E::read(&body) {
            Some(asked) => {
                let mut told = asked.told(Asker::read(E::WIRE, &parts.headers, asked.named())?);
                told.inject.get_or_insert_with(|| self.inject.clone());
                (!told.messages.is_empty()).then_some((asked, told))
            }
            None => None,
        };
        Ok(Sent { letter, told })
    }

    async fn send(&self, wire: Wire, letter: Letter) -> Result<Passing, Fault> {
        let route = letter.route;
        let sent = self.upstream(wire).forwarder()?.send(letter).await;
        match &sent {
            Ok(passing) => {
                let status = passing.status.as_u16();
                tracing::debug!(wire = wire.name(), route, status, "passed on");
            }
            Err(error) => {
                tracing::warn!(wire = wire.name(), route, %error, "the upstream gave no answer");
            }
        }
        let outcome = if sent.is_ok() { "answered" } else { "failed" };
        metrics::counter!("bethink_gateway_requests_total", "wire" => wire.name(), "outcome" => outcome)
            .increment(1);
        sent.map_err(|error| Fault::of_upstream(&error))
    }
}

/// A request that was read.
struct Sent<E> {
    letter: Letter,
    told: Option<(E, Told)>,
}

/// What the memory said. Where it is the memory that fails, the client's own request goes up: work goes on, and
/// nothing of it is kept.
fn known<T>(said: bethink_daemon::Result<T>) -> Result<Option<T>, Fault> {
    match said {
        Ok(said) => Ok(Some(said)),
        Err(refusal) => match Fault::of_refusal(&refusal) {
            Some(fault) => Err(fault),
            None => {
                tracing::warn!(%refusal, "a request went up without memory");
                Ok(None)
            }
        },
    }
}

fn body_of<E: Envelope>(asked: &E, prompt: &Prompt, own: &Bytes) -> Result<Bytes, Fault> {
    match prompt {
        Prompt::Unchanged => Ok(own.clone()),
        Prompt::Changed { system_added, messages } => {
            let changed = asked.changed(system_added.as_deref(), messages);
            changed.ok_or_else(|| {
                let what = "bethink made a prompt that can't be written in the client's format";
                Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", what).in_vain()
            })
        }
    }
}

/// A refusal, read as a whole: behind a status of its own, or as the first event of a stream, before a byte of which
/// went on. Until then a broken connection is an error that can be told, and afterwards one that cuts the answer off.
async fn refusal_of(passing: &mut Passing) -> Result<Option<(StatusCode, Bytes)>, Fault> {
    let read = if passing.status.is_success() {
        let error = passing.look().await;
        error.map(|error| error.map(|json| (StatusCode::BAD_REQUEST, Bytes::from(json))))
    } else {
        let status = passing.status;
        passing.whole(MAX_REFUSAL).await.map(|text| Some((status, text)))
    };
    read.map_err(|error| Fault::of_upstream(&error))
}

/// Everything that providers answer to a prompt that is too long, among other things.
fn may_be_too_long(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 413 | 422)
}

/// A request that the memory waits to hear of. Whatever becomes of it, it is told once.
#[derive(Debug)]
pub(crate) struct Turn<M: Memory> {
    memory: M,
    ticket: Option<M::Ticket>,
}

impl<M: Memory> Turn<M> {
    pub(crate) fn new(memory: M, ticket: M::Ticket) -> Self {
        Self { memory, ticket: Some(ticket) }
    }

    pub(crate) fn heard(&mut self, heard: Heard) {
        if let Some(ticket) = self.ticket.take() {
            self.memory.heard(ticket, heard);
        }
    }

    fn accepted(&self) {
        self.ticket.iter().for_each(|ticket| self.memory.accepted(ticket));
    }

    fn broken(&mut self) {
        self.heard(Heard { message: None, outcome: Outcome::Broken });
    }

    /// A smaller prompt in place of a refused one.
    async fn smaller(&mut self, status: StatusCode, refusal: &[u8]) -> Option<Prompt> {
        let text = String::from_utf8_lossy(refusal);
        let ticket = self.ticket.as_ref()?;
        match self.memory.refused(ticket, status.as_u16(), &text).await {
            Ok(next) => {
                let next = next?;
                self.ticket = Some(next.ticket);
                Some(next.prompt)
            }
            Err(refusal) => {
                tracing::warn!(%refusal, "no smaller prompt");
                None
            }
        }
    }
}

/// Dropped before its end, the client has gone.
impl<M: Memory> Drop for Turn<M> {
    fn drop(&mut self) {
        self.heard(Heard { message: None, outcome: Outcome::Cancelled });
    }
}

#[cfg(test)]
mod tests;
