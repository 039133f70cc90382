//! Events that clients can follow. The set is closed: clients know every kind.

use bethink_api as api;
use bethink_transcript::{CompactionId, Seq};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

/// One thing that happened, with the data of its kind.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub enum Event {
    /// A message was appended.
    Message {
        #[schema(value_type = u64)]
        seq: Seq,
        id: String,
        #[schema(value_type = api::Role)]
        role: &'static str,
    },
    /// A prompt was built. `tokens` is how much of the window it fills.
    Context {
        tokens: u64,
        level: api::FillLevel,
        remaining: u64,
        window: u64,
        parts: api::PartTokens,
    },
    /// The session was compacted, or a compaction was undone.
    Compaction {
        #[schema(value_type = Uuid)]
        id: CompactionId,
        trigger: api::CompactionTrigger,
        level: api::CompactionLevel,
        tokens_before: u64,
        tokens_after: u64,
        fidelity: f64,
        warning: Option<String>,
        undone: bool,
    },
    /// The text of a collapsed span was written, or prompts now show that text.
    Collapse { id: Uuid, covers: api::Covers, state: api::CollapseState },
    /// The provider's prompt cache was missed.
    Cache(api::CacheFall),
    /// The notes were written.
    Notes {
        #[schema(value_type = u64)]
        through_seq: Seq,
        by: api::NotesAuthor,
    },
    /// The todo list changed.
    Todos { items: usize },
    /// A memory file changed.
    Memory {
        project: String,
        scope: api::MemoryScope,
        file: String,
        outcome: api::MemoryOutcome,
        by: api::MemoryAuthor,
    },
    /// The user asked to forget something. A person has to decide which topics are meant.
    #[serde(rename = "memory")]
    #[schema(title = "ForgetAskedEvent")]
    ForgetAsked {
        outcome: ForgetEventOutcome,
        by: api::MemoryAuthor,
        words: String,
        hint: &'static str,
    },
    /// A proposal was made or decided on.
    Proposal { id: Uuid, name: String, state: api::ProposalState, project_dir: String },
    /// A candidate was found, kept or dropped.
    Candidate { id: Uuid, state: api::CandidateState, project_dir: String },
    /// Memories were added to a prompt.
    Recall {
        #[schema(value_type = u64)]
        after_seq: Seq,
        strategy: api::Strategy,
        memories: Vec<RecalledTopic>,
    },
    /// A step of a model call.
    Model {
        purpose: api::Purpose,
        model: String,
        #[serde(flatten)]
        step: ModelStep,
    },
    /// A refused prompt was handled.
    Recovery {
        class: api::ErrorClass,
        step: api::RecoveryStep,
        detail: String,
        wait_ms: Option<u64>,
        max_tokens: Option<u64>,
        compaction: Option<String>,
    },
    /// A job changed its state.
    Job { id: Uuid, kind: String, state: api::JobState },
    /// A session was created, changed or deleted.
    Session { change: api::SessionLifecycle },
    /// The reader missed events that are not stored, so it has to read everything again. In a session's stream, missed
    /// messages and compactions follow.
    Reset {},
}

/// Distinguishes `ForgetAsked` from other events about memory.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForgetEventOutcome {
    AskedToForget,
}

/// A topic that was added to a prompt, and why.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RecalledTopic {
    pub scope: api::MemoryScope,
    pub name: String,
    pub why: api::RecallWhy,
}

/// A step on the way to a model's answer.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum ModelStep {
    /// A prompt is sent to the model.
    Asked { tokens: u64 },
    /// The model has answered.
    Answered { output_tokens: u64, cache_read_tokens: u64, ms: u64 },
    /// An attempt failed.
    Failed { class: api::ErrorClass, status: Option<u16>, message: String, attempt: u32 },
    /// The call is retried.
    Again { change: &'static str, wait_ms: u64, bytes: usize },
    /// No attempt succeeded.
    GaveUp { class: api::ErrorClass, message: String },
    /// The model called a tool.
    Called { tool: String, ok: bool },
    /// A tool call was not allowed.
    Denied { tool: String, reason: String },
    /// The answer could not be used.
    Refused { message: String },
}

impl Event {
    /// Returns the event's name in event streams.
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
            Event::Candidate { .. } => "candidate",
            Event::Recall { .. } => "recall",
            Event::Model { .. } => "model",
            Event::Recovery { .. } => "recovery",
            Event::Job { .. } => "job",
            Event::Session { .. } => "session",
            Event::Reset {} => "reset",
        }
    }

    /// Returns the event's data as a JSON object.
    pub(crate) fn data(&self) -> Map<String, Value> {
        let mut tagged = serde_json::to_value(self).unwrap_or_default();
        match tagged.get_mut("data").map(Value::take) {
            Some(Value::Object(data)) => data,
            // Not reached: the data of every variant is a JSON object.
            _ => Map::new(),
        }
    }
}
