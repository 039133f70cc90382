//! A request, read: what it says, what of it is compared, and whether it surely fits.

use bethink_api::ModelSpec;
use bethink_prefix_match::{Chain, ChainScope, LikenessReader, MessageReading, Speaker};
use bethink_service::{Result, ServiceError};
use bethink_sessions::{ClientParts, Inject};
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, SessionId, UnixMicros, json};
use bytes::Bytes;
use uuid::Uuid;

use super::request::ClientKey;

/// What the gateway knows of a request.
#[derive(Debug)]
pub(super) struct ReadRequest {
    pub(super) entrance: &'static str,
    pub(super) model: ModelSpec,
    pub(super) session: Option<SessionId>,
    pub(super) client: Option<ClientKey>,
    /// As the client names it; not looked at yet.
    pub(super) project_dir: Option<String>,
    pub(super) parts: ClientParts,
    pub(super) messages: Vec<Bytes>,
    pub(super) inject: Inject,
    pub(super) readings: Vec<MessageReading>,
    /// Of each beginning, the shortest first.
    pub(super) marks: Vec<u128>,
    pub(super) chain: Chain,
    /// Whose conversations it may continue, unless it names a session.
    pub(super) scope: ChainScope,
    /// System and tools, as one number.
    pub(super) frame: u64,
    /// Its size in bytes proves that it is under every threshold, and nothing has to be added to it.
    pub(super) surely_fits: bool,
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
    /// What distinguishes conversations before the first answer.
    pub(super) fn setting(&self) -> [&str; 2] {
        [&self.model.name, &self.parts.tools]
    }

    /// All messages, and the mark of them.
    pub(super) fn whole(&self) -> (usize, u128) {
        (self.marks.len(), self.marks.last().copied().unwrap_or_default())
    }

    /// The request's words behind its first `known` messages are the user's alone, so that no other stored
    /// conversation that has them is any better.
    pub(super) fn only_asks_behind(&self, known: usize) -> bool {
        let mut new = self.readings.iter().skip(known);
        known > 0 && new.all(|reading| reading.speaker != Speaker::Assistant)
    }

    /// The messages behind the first `known`, as they are stored.
    pub(super) fn new_messages(&self, known: usize, now: UnixMicros) -> Result<Vec<Message>> {
        let both = self.messages.iter().zip(&self.readings).enumerate().skip(known);
        both.map(|(i, (given, reading))| {
            let raw = spoken_by_user(reading.unmarked(given), reading.speaker)?;
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

/// Instructions within a conversation are kept as the user's, with the role that they had.
fn spoken_by_user(raw: Bytes, speaker: Speaker) -> Result<Bytes> {
    if speaker != Speaker::Other {
        return Ok(raw);
    }
    let text = std::str::from_utf8(&raw).map_err(ServiceError::internal)?;
    let members = json::members(text).unwrap_or_default();
    let role = members.iter().find(|(name, _)| name == "role").map(|(_, role)| role.get());
    let kept = role.and_then(|role| json::with_member(text, "said_as", role));
    let kept = kept.as_deref().and_then(|kept| std::str::from_utf8(kept).ok());
    kept.and_then(|kept| json::with_member(kept, "role", r#""user""#))
        .ok_or_else(|| ServiceError::internal("a role could not be kept"))
}
