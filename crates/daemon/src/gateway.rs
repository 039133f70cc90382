//! The memory side of the gateway: clients that have no memory of their own resend their whole history with
//! each request. Which session that is, what of it is new, and what goes up instead is decided here; the wire
//! is the entrance's.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bethink_api as api;
use bethink_transcript::{SessionId, json};
use bytes::Bytes;
use serde_json::value::RawValue;

use crate::{Daemon, Refusal, Result};

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
    /// The system prompt, text or JSON: to be counted, and to find the working directory in.
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

/// What an answer is heard under.
#[derive(Clone, Debug)]
pub struct Ticket {
    session: SessionId,
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

/// Sessions by the client's own key.
#[derive(Debug, Default)]
pub(crate) struct GatewayDesk {
    sessions: Mutex<HashMap<ClientKey, SessionId>>,
}

impl Daemon {
    /// Recognises the session, keeps what is new, and says what goes up.
    pub async fn gateway_prepare(&self, told: Told) -> Result<Prepared> {
        let session = match (told.session, &told.client) {
            (Some(named), _) => self.store().session(named).await?.id,
            (None, Some(key)) => match self.keyed_session(key) {
                Some(known) => known,
                None => self.gateway_session(&told).await?,
            },
            (None, None) => self.gateway_session(&told).await?,
        };
        if let Some(key) = told.client {
            self.gateway_keys().insert(key, session);
        }
        let stored = self.store().session(session).await?.last_seq.0;
        let new = told.messages.iter().skip(usize::try_from(stored).unwrap_or(usize::MAX));
        let new: Vec<&[u8]> = new.map(AsRef::as_ref).collect();
        if !new.is_empty() {
            let body = [&b"{\"messages\":["[..], &new.join(&b","[..]), b"]}"].concat();
            self.append(session, Bytes::from(body), None).await?;
        }
        Ok(Prepared { ticket: Ticket { session }, session, prompt: Prompt::Unchanged })
    }

    /// The prompt that such a request would get. Keeps nothing.
    #[allow(clippy::unused_async, reason = "a full window will be counted through the pipeline")]
    pub async fn gateway_count(&self, _told: Told) -> Result<Prompt> {
        Ok(Prompt::Unchanged)
    }

    /// Takes an answer in. Returns at once; what it starts is waited for at shutdown.
    pub fn gateway_heard(&self, ticket: Ticket, heard: Heard) {
        let daemon = self.clone();
        self.spawn(async move {
            if let Err(refusal) = daemon.hear(&ticket, heard).await {
                tracing::warn!(session = %ticket.session, %refusal, "an answer was not kept");
            }
        });
    }

    async fn hear(&self, ticket: &Ticket, heard: Heard) -> Result<()> {
        let (Some(message), Outcome::Whole) = (heard.message, heard.outcome) else { return Ok(()) };
        let body = [&b"{\"messages\":["[..], &message, b"]}"].concat();
        self.append(ticket.session, Bytes::from(body), None).await?;
        Ok(())
    }

    /// The upstream refused the prompt before its first byte: a smaller one to try, or none.
    #[allow(clippy::unused_async, reason = "a compaction is awaited here")]
    pub async fn gateway_refused(
        &self,
        _ticket: &Ticket,
        _status: u16,
        _body: &str,
    ) -> Result<Option<Prepared>> {
        Ok(None)
    }

    fn keyed_session(&self, key: &ClientKey) -> Option<SessionId> {
        self.gateway_keys().get(key).copied()
    }

    fn gateway_keys(&self) -> std::sync::MutexGuard<'_, HashMap<ClientKey, SessionId>> {
        self.inner.gateway.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn gateway_session(&self, told: &Told) -> Result<SessionId> {
        let person = self.settings().person.as_ref().map(|dir| dir.display().to_string());
        let project_dir = told.project_dir.clone().or(person).unwrap_or_else(|| "/".to_owned());
        let project = json::encode_string(&project_dir);
        let request: api::CreateSession =
            serde_json::from_str(&format!(r#"{{"project_dir":{project}}}"#))
                .map_err(Refusal::internal)?;
        Ok(SessionId(self.create_session(request, None).await?.id))
    }
}
