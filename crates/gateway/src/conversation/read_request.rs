//! A request with the hashes that identify its conversation, and whether it certainly fits into the window.

use std::sync::Arc;

use bethink_api::ModelSpec;
use bethink_models::ClientModel;
use bethink_prefix_match::{Chain, ChainScope, LikenessReader, MessageReading, Speaker};
use bethink_service::{Result, ServiceError};
use bethink_sessions::{ClientParts, Inject};
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, SessionId, UnixMicros, json};
use bytes::Bytes;
use uuid::Uuid;

use super::frame::RequestFrame;
use super::request::ClientKey;

/// A request, ready to be compared with stored conversations.
#[derive(Debug)]
pub(super) struct ReadRequest {
    pub(super) entrance: &'static str,
    pub(super) model: ModelSpec,
    pub(super) session: Option<SessionId>,
    pub(super) client: Option<ClientKey>,
    /// The project directory as the client sent it, unchecked.
    pub(super) project_dir: Option<String>,
    pub(super) parts: ClientParts,
    /// The parts that bethink's own calls repeat.
    pub(super) own: RequestFrame,
    /// The client's own model, if it is to write summaries.
    pub(super) client_model: Option<ClientModel>,
    /// Parts of the body, unless the gateway had to write them anew.
    pub(super) messages: Vec<Bytes>,
    pub(super) body_bytes: usize,
    pub(super) inject: Inject,
    pub(super) readings: Vec<MessageReading>,
    /// Hash of each prefix of the messages, shortest prefix first.
    pub(super) marks: Vec<u128>,
    pub(super) chain: Chain,
    /// Limits which conversations the request can continue, unless the request names a session.
    pub(super) scope: ChainScope,
    /// The leading instructions as JSON, if a later request may continue the answer by its ID.
    pub(super) chain_heads: Option<Arc<[String]>>,
    /// Hash of the system prompt and the tools.
    pub(super) frame: u64,
    pub(super) agent: RequestingAgent,
    /// Whether the request is certainly too small for a compaction, and nothing is added to it.
    pub(super) surely_fits: bool,
}

/// Distinguishes a client's agents: its main agent, and those that the client starts with a copy of the conversation,
/// for example to extract memories from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestingAgent {
    /// Hash of the first line of the system prompt.
    role: u64,
    /// Hash of the tools.
    tools: u64,
}

/// Beginning of a line that Claude Code puts before its system prompt, and that differs between requests.
const BILLING: &str = "x-anthropic-";

impl RequestingAgent {
    pub(super) fn of(system: &str, tools: &str) -> Self {
        let mut lines = system.lines().filter(|line| !line.trim().is_empty());
        let first = lines.find(|line| !line.starts_with(BILLING)).unwrap_or_default();
        let [ChainScope(role), ChainScope(tools)] =
            [first, tools].map(|part| ChainScope::of(&[part]));
        Self { role, tools }
    }

    /// Whether `agent` is a different agent. The same agent may change either its tools or the wording of its system prompt.
    pub(super) fn is_other(self, agent: Self) -> bool {
        self.role != agent.role && self.tools != agent.tools
    }

    /// Returns a scope in which only this agent continues conversations.
    pub(super) fn scope_in(self, ChainScope(scope): ChainScope) -> ChainScope {
        ChainScope::of(&["agent", &scope.to_string(), &self.role.to_string()])
    }
}

pub(super) fn read_all(messages: &[Bytes]) -> Result<Vec<MessageReading>> {
    let mut reader = LikenessReader::default();
    let read = messages.iter().enumerate().map(|(i, message)| {
        reader
            .read(message)
            .map_err(|problem| ServiceError::invalid(format!("messages[{i}]"), problem.to_string()))
    });
    read.collect()
}

impl ReadRequest {
    /// Returns what distinguishes conversations before their first answer: the model and the tools.
    pub(super) fn setting(&self) -> [&str; 2] {
        [&self.model.name, &self.parts.tools]
    }

    /// Returns the number of messages, and the mark of all of them.
    pub(super) fn whole(&self) -> (usize, u128) {
        (self.marks.len(), self.marks.last().copied().unwrap_or_default())
    }

    /// Returns whether there is no answer among the messages after the first `known`. If so, no other stored
    /// conversation can match better.
    pub(super) fn only_user_messages_after(&self, known: usize) -> bool {
        let mut new = self.readings.iter().skip(known);
        known > 0 && new.all(|reading| reading.speaker != Speaker::Assistant)
    }

    pub(super) fn has_answers(&self) -> bool {
        self.readings.iter().any(|reading| reading.speaker == Speaker::Assistant)
    }

    /// Returns the messages after the first `known`, as they are stored. Messages that are a small part of the body are copied: the
    /// session would keep the whole body in memory as long as any part of it.
    pub(super) fn new_messages(&self, known: usize, now: UnixMicros) -> Result<Vec<Message>> {
        let bytes: usize = self.messages.iter().skip(known).map(Bytes::len).sum();
        let is_small_part = bytes < self.body_bytes / 2;
        let both = self.messages.iter().zip(&self.readings).enumerate().skip(known);
        both.map(|(i, (given, reading))| {
            let raw = match is_small_part {
                true => reading.unmarked(&Bytes::copy_from_slice(given)),
                false => reading.unmarked(given),
            };
            let raw = as_user_message(raw, reading.speaker)?;
            let id = fresh_id()?;
            let meta = MessageMeta { seq: Seq::ZERO, id, created_at: now };
            Message::parse(meta, raw, MessageSource::Client).map_err(|problem| {
                let dot = if problem.field.is_empty() { "" } else { "." };
                ServiceError::invalid(
                    format!("messages[{i}]{dot}{}", problem.field),
                    problem.problem,
                )
            })
        })
        .collect()
    }
}

pub(super) fn fresh_id() -> Result<MessageId> {
    MessageId::new(&Uuid::now_v7().to_string()).map_err(ServiceError::internal)
}

/// Stores a message with another role, such as an instruction, as a user message that records its original role.
fn as_user_message(raw: Bytes, speaker: Speaker) -> Result<Bytes> {
    if speaker != Speaker::Other {
        return Ok(raw);
    }
    let text = std::str::from_utf8(&raw).map_err(ServiceError::internal)?;
    let members = json::members(text).unwrap_or_default();
    let role = members.iter().find(|(name, _)| name == "role").map(|(_, role)| role.get());
    let kept = role.and_then(|role| json::with_member(text, "said_as", role));
    let kept = kept.as_deref().and_then(|kept| std::str::from_utf8(kept).ok());
    kept.and_then(|kept| json::with_member(kept, "role", r#""user""#))
        .ok_or_else(|| ServiceError::internal("could not replace the role of a message"))
}
