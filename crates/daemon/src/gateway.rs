//! The memory side of the gateway: clients that have no memory of their own resend their whole history with
//! each request. Which session that is, what of it is new, and what goes up instead is decided here; the wire
//! is the entrance's.
//!
//! A client that resends everything acknowledges nothing: what is lost in a crash comes again with its next
//! request. So a request that surely fits goes up at once, and what is new of it is stored behind its back, in
//! order (`line`). Only a prompt that is made from decisions waits for the disk.
//!
//! Reading order: here → `asked` (`window`, `place`) → `desk` → `find` (`begin`, `load`) → `line` → `turn`
//! (`pieces`) → `heard` → `refused`.

mod asked;
mod begin;
mod desk;
mod find;
mod heard;
mod line;
mod load;
mod pieces;
mod place;
mod refused;
#[cfg(test)]
mod tests;
mod turn;
mod window;

use std::sync::{Arc, Mutex, PoisonError};

use bethink_lineage::{Chain, Scope};
use bethink_transcript::SessionId;
use bytes::Bytes;
use serde_json::value::RawValue;

use crate::{Daemon, Result};

use asked::Asked;
pub(crate) use desk::GatewayDesk;
use find::Place;
use line::Work;

/// Bytes of one conversation that may wait to be stored; a request that brings more waits itself.
const MAX_WAITING: usize = 16 * 1024 * 1024;

/// What a client says of itself when it names its own session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientKey {
    /// The client's name, such as `claude-code`.
    pub entrance: String,
    /// The client's own id of its session.
    pub key: String,
}

/// A request as the wire's side has read it. Messages are in our vocabulary, the Messages API's blocks.
#[derive(Debug)]
pub struct Told {
    /// `anthropic` or `openai`.
    pub entrance: &'static str,
    pub model: String,
    pub max_output: Option<u64>,
    /// A bethink session that the client names.
    pub session: Option<SessionId>,
    pub client: Option<ClientKey>,
    pub project_dir: Option<String>,
    /// The system prompt's text: to be counted, and to find the working directory in.
    pub system: Option<String>,
    /// The array of tools.
    pub tools: Option<Box<RawValue>>,
    /// Each `{role, content, …}`, consecutive and in order.
    pub messages: Vec<Bytes>,
    /// Bytes of the whole request.
    pub body_bytes: usize,
    /// `off`, `recall` or `full`; none: as the settings have it.
    pub inject: Option<String>,
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The client's message of this index, exactly as it was given.
    Client(usize),
    /// `{role, content}`.
    Written(Bytes),
}

/// What goes up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// The client's own request.
    Unchanged,
    /// These messages, and a text behind the client's own system prompt.
    Changed { system_added: Option<String>, messages: Vec<Piece> },
}

/// What an answer is heard under; clones are of one request.
#[derive(Clone, Debug)]
pub struct Ticket(Arc<Held>);

#[derive(Debug)]
struct Held {
    session: SessionId,
    scope: Scope,
    entrance: &'static str,
    /// Messages of the conversation that was sent, and the mark of them all.
    length: usize,
    chain: Chain,
    mark: u128,
    /// Bytes of the messages that went up, and the request, until the upstream has taken it.
    request: Mutex<Option<(usize, Arc<Asked>)>>,
}

impl Ticket {
    /// The upstream took the prompt: what was held for another try is let go.
    pub fn accepted(&self) {
        self.0.request.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

#[derive(Clone, Debug)]
pub struct Prepared {
    pub ticket: Ticket,
    pub session: SessionId,
    pub prompt: Prompt,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The provider said how it ended.
    Whole,
    /// It broke off, or could not be read.
    Broken,
    /// The client went away.
    Cancelled,
}

/// An answer, as far as it came.
#[derive(Clone, Debug)]
pub struct Heard {
    /// `{id, role, model, content, usage, stop_reason}`.
    pub message: Option<Bytes>,
    pub outcome: Outcome,
}

impl Daemon {
    /// Recognises the session, keeps what is new, and says what goes up.
    pub async fn gateway_prepare(&self, told: Told) -> Result<Prepared> {
        let asked = Arc::new(self.asked(told)?);
        let place = self.recognise(&asked).await?;
        if place.is_simple && asked.surely_fits {
            metrics::counter!("bethink_gateway_requests_total", "way" => "unchanged").increment(1);
            self.note_behind(&asked, &place).await?;
            return Ok(asked.prepared(&place, Prompt::Unchanged));
        }
        metrics::counter!("bethink_gateway_requests_total", "way" => "turn").increment(1);
        self.turn_for(&asked, place).await
    }

    /// What of an unchanged request is noted behind its back; waits only where too much waits already.
    async fn note_behind(&self, asked: &Arc<Asked>, place: &Place) -> Result<()> {
        let session = place.session;
        let Some(line) = self.gateway().line(session) else { return Ok(()) };
        if self.gateway().framed(session, asked.frame) {
            line.push(Work::Frame(Arc::clone(asked)));
            self.go_on(session);
        }
        if line.bytes() > MAX_WAITING { self.stored_all(session).await } else { Ok(()) }
    }

    /// The prompt that such a request would get, but for a compaction. Keeps nothing.
    pub async fn gateway_count(&self, told: Told) -> Result<Prompt> {
        let asked = self.asked(told)?;
        match self.known_place(&asked).await? {
            Some(place) if !place.is_simple => self.foreseen_for(&asked, &place).await,
            _ => Ok(Prompt::Unchanged),
        }
    }

    /// Whether the session's messages come by the gateway; who imports them elsewhere would have them twice.
    pub async fn fed_by_gateway(&self, session: SessionId) -> Result<bool> {
        Ok(self.gateway().knows(session) || self.store().lineage(session).await?.is_some())
    }
}
