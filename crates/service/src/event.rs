//! Events as followers receive them. The set is closed: clients know every kind.

use bethink_api as api;
use bethink_transcript::{CompactionId, Seq};
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

/// One event, with the data of its kind.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// A message was appended.
    Message {
        seq: Seq,
        id: String,
        role: &'static str,
    },
    /// A prompt was handed out, with the tokens of the window that it fills.
    Context {
        tokens: u64,
        level: api::FillLevel,
        remaining: u64,
        window: u64,
        parts: api::PartTokens,
    },
    Compaction {
        id: CompactionId,
        trigger: String,
        level: String,
        tokens_before: u64,
        tokens_after: u64,
        fidelity: f64,
        warning: Option<String>,
        undone: bool,
    },
    /// A span has a text, or a prompt shows it.
    Collapse {
        id: Uuid,
        covers: api::Covers,
        state: api::CollapseState,
    },
    /// The provider's prompt cache was missed.
    Cache(api::CacheFall),
    Notes {
        through_seq: Seq,
        by: String,
    },
    Todos {
        items: usize,
    },
    /// A memory file changed.
    Memory {
        project: String,
        scope: api::MemoryScope,
        file: String,
        outcome: api::MemoryOutcome,
        by: api::MemoryAuthor,
    },
    /// The user asked to forget something that no memory file says.
    ForgetAsked {
        outcome: &'static str,
        by: &'static str,
        words: String,
        hint: &'static str,
    },
    Proposal {
        id: Uuid,
        name: String,
        state: api::ProposalState,
        project_dir: String,
    },
    /// Memories were shown with a prompt.
    Recall {
        after_seq: Seq,
        strategy: api::Strategy,
        memories: Vec<RecalledTopic>,
    },
    /// A step of a model call.
    Model {
        purpose: &'static str,
        model: String,
        #[serde(flatten)]
        step: ModelStep,
    },
    Recovery {
        class: String,
        step: api::RecoveryStep,
        detail: String,
        wait_ms: Option<u64>,
        max_tokens: Option<u64>,
        compaction: Option<String>,
    },
    Job {
        id: Uuid,
        kind: String,
        state: api::JobState,
    },
    /// A session was `created`, `changed` or `deleted`.
    Session {
        change: &'static str,
    },
    /// The reader missed more than is kept, so it must reload what it shows.
    Reset {},
}

/// A topic that a prompt was given, and why.
#[derive(Clone, Debug, Serialize)]
pub struct RecalledTopic {
    pub scope: api::MemoryScope,
    pub name: String,
    pub why: api::RecallWhy,
}

/// A step on the way to a model's answer.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum ModelStep {
    Asked {
        tokens: u64,
    },
    Answered {
        output_tokens: u64,
        cache_read_tokens: u64,
        ms: u64,
    },
    Failed {
        class: &'static str,
        status: Option<u16>,
        message: String,
        attempt: u32,
    },
    /// The request is retried.
    Again {
        change: &'static str,
        wait_ms: u64,
        bytes: usize,
    },
    GaveUp {
        class: &'static str,
        message: String,
    },
    Called {
        tool: String,
        ok: bool,
    },
    Denied {
        tool: String,
        reason: String,
    },
    /// The answer could not be used.
    Refused {
        message: String,
    },
}

impl Event {
    /// The event's name in streams.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::Message { .. } => "message",
            Event::Context { .. } => "context",
            Event::Compaction { .. } => "compaction",
            Event::Collapse { .. } => "collapse",
            Event::Cache(_) => "cache",
            Event::Notes { .. } => "notes",
            Event::Todos { .. } => "todos",
            Event::Memory { .. } | Event::ForgetAsked { .. } => "memory",
            Event::Proposal { .. } => "proposal",
            Event::Recall { .. } => "recall",
            Event::Model { .. } => "model",
            Event::Recovery { .. } => "recovery",
            Event::Job { .. } => "job",
            Event::Session { .. } => "session",
            Event::Reset {} => "reset",
        }
    }

    /// Its data, a JSON object.
    pub(crate) fn data(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(data)) => data,
            // Every variant is an object of plain values.
            _ => Map::new(),
        }
    }
}
