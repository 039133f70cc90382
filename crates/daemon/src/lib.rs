//! skeleton: signatures are final, bodies are being written
#![allow(unused_variables, clippy::unused_async)]

mod refusal;

use std::sync::Arc;

use bethink_api as api;
use bethink_transcript::{CompactionId, JobId, SessionId};
use bytes::Bytes;

pub use refusal::{Kind, Refusal};

pub type Result<T> = std::result::Result<T, Refusal>;

/// An `Idempotency-Key` and the fingerprint of the request it came with.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    pub key: String,
    pub fingerprint: String,
}

/// One server-sent event.
#[derive(Clone, Debug)]
pub struct Event {
    pub id: String,
    pub kind: &'static str,
    /// JSON, one line.
    pub data: String,
}

/// Events of one session, missed ones first.
#[derive(Debug)]
pub struct Events {}

impl Events {
    /// `None` when the daemon stops or the session is deleted.
    pub async fn next(&mut self) -> Option<Event> {
        None
    }
}

/// An export on its way, a stretch of lines at a time.
#[derive(Debug)]
pub struct Export {}

impl Export {
    pub async fn next(&mut self) -> Option<Result<Bytes>> {
        None
    }
}

/// What of a session is kept across compactions by `PUT …/state/{kind}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKind {
    Plan,
    Skills,
    Agents,
    Tools,
    Files,
    Instructions,
    Hooks,
}

#[derive(Clone, Debug)]
pub struct Daemon {
    #[allow(dead_code)]
    inner: Arc<()>,
}

#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error("{0}")]
    Any(String),
}

fn no<T>() -> Result<T> {
    Err(Refusal::new(Kind::Internal, "not built yet"))
}

impl Daemon {
    /// Takes the home's lock, opens the store, starts the workers.
    pub async fn boot(settings: bethink_config::Settings) -> std::result::Result<Self, BootError> {
        Err(BootError::Any("not built yet".into()))
    }
    /// Finishes or hands over what is under way; ends all event streams.
    pub async fn shutdown(&self) {}

    pub fn health(&self) -> api::Health {
        api::Health { status: "ok".into(), version: env!("CARGO_PKG_VERSION").into(), detail: None }
    }
    /// Prometheus text.
    pub fn metrics(&self) -> String {
        String::new()
    }

    // sessions
    pub async fn create_session(
        &self,
        request: api::CreateSession,
        key: Option<IdempotencyKey>,
    ) -> Result<api::Session> {
        no()
    }
    pub async fn session(&self, id: SessionId) -> Result<api::Session> {
        no()
    }
    pub async fn sessions(
        &self,
        project_dir: Option<String>,
        q: Option<String>,
        tag: Option<String>,
        limit: Option<usize>,
        cursor: Option<String>,
    ) -> Result<api::SessionsPage> {
        no()
    }
    pub async fn patch_session(
        &self,
        id: SessionId,
        request: api::PatchSession,
    ) -> Result<api::Session> {
        no()
    }
    pub async fn delete_session(&self, id: SessionId) -> Result<()> {
        no()
    }
    pub async fn fork(&self, id: SessionId, request: api::ForkRequest) -> Result<api::Session> {
        no()
    }
    /// `(project_dir, sessions)`
    pub async fn projects(&self) -> Result<Vec<(String, u64)>> {
        no()
    }

    // messages: `body` is the raw request, checked for UTF-8 and depth by the server
    pub async fn append(
        &self,
        id: SessionId,
        body: Bytes,
        key: Option<IdempotencyKey>,
    ) -> Result<api::Appended> {
        no()
    }
    pub async fn messages(
        &self,
        id: SessionId,
        after_seq: Option<u64>,
        before_seq: Option<u64>,
        limit: Option<usize>,
    ) -> Result<api::MessagesPage> {
        no()
    }
    pub async fn search(
        &self,
        id: SessionId,
        q: &str,
        limit: Option<usize>,
    ) -> Result<api::SearchHits> {
        no()
    }

    // context: the answer is the JSON body, ready to send
    pub async fn context(&self, id: SessionId, request: api::ContextRequest) -> Result<Bytes> {
        no()
    }
    pub async fn report(&self, id: SessionId) -> Result<api::ContextReport> {
        no()
    }

    // compactions
    pub async fn compact(
        &self,
        id: SessionId,
        request: api::CompactRequest,
    ) -> Result<api::Compaction> {
        no()
    }
    pub async fn compactions(&self, id: SessionId) -> Result<api::Compactions> {
        no()
    }
    pub async fn undo(&self, id: SessionId, compaction: CompactionId) -> Result<api::Compaction> {
        no()
    }
    pub async fn expand(
        &self,
        id: SessionId,
        compaction: CompactionId,
        q: Option<String>,
        limit: Option<usize>,
        cursor: Option<String>,
    ) -> Result<api::Expanded> {
        no()
    }

    // state
    pub async fn todos(&self, id: SessionId) -> Result<api::Todos> {
        no()
    }
    pub async fn put_todos(&self, id: SessionId, todos: api::Todos) -> Result<api::Todos> {
        no()
    }
    /// `body` is JSON of the kind's type in `bethink_api::state`; answers what is kept now.
    pub async fn put_state(&self, id: SessionId, kind: StateKind, body: Bytes) -> Result<Bytes> {
        no()
    }
    pub async fn state(&self, id: SessionId, kind: StateKind) -> Result<Bytes> {
        no()
    }

    // events, files, jobs
    pub async fn events(&self, id: SessionId, last_event_id: Option<String>) -> Result<Events> {
        no()
    }
    pub async fn import_path(&self, request: api::ImportRequest) -> Result<api::Job> {
        no()
    }
    pub async fn import_body(&self, body: Bytes) -> Result<api::Job> {
        no()
    }
    pub async fn export(&self, id: SessionId) -> Result<Export> {
        no()
    }
    pub async fn job(&self, id: JobId) -> Result<api::Job> {
        no()
    }

    // idempotency of the other mutations: the server keeps their answers here
    pub async fn kept_answer(&self, key: &IdempotencyKey) -> Result<Option<String>> {
        no()
    }
    pub async fn keep_answer(&self, key: IdempotencyKey, answer: String) -> Result<()> {
        no()
    }
}
