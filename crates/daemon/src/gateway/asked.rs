//! A request, read: what it says, what of it is compared, and whether it surely fits.

use std::sync::{Arc, Mutex};

use bethink_api::ModelSpec;
use bethink_lineage::{Chain, Prefix, Reader, Reading, Scope, Speaker};
use bethink_transcript::message::Source;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, SessionId, UnixMicros, json};
use bytes::Bytes;
use uuid::Uuid;

use super::find::Place;
use super::place::spoken_dir;
use super::{ClientKey, Held, Piece, Prepared, Prompt, Ticket, Told};
use crate::frame::Given;
use crate::memory::Inject;
use crate::{Daemon, Refusal, Result};

/// Tokens that an image or a document may cost beyond its bytes, since it may be named by an address alone.
const MEDIA_TOKENS: u64 = 3_000;
/// The part of the system prompt that a client's own is.
const SYSTEM: &str = "system";

/// What the gateway knows of a request.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) entrance: &'static str,
    pub(super) model: ModelSpec,
    pub(super) session: Option<SessionId>,
    pub(super) client: Option<ClientKey>,
    /// As the client names it; not looked at yet.
    pub(super) project_dir: Option<String>,
    pub(super) given: Given,
    pub(super) messages: Vec<Bytes>,
    pub(super) inject: Inject,
    pub(super) readings: Vec<Reading>,
    /// Of each beginning, the shortest first.
    pub(super) marks: Vec<u128>,
    pub(super) chain: Chain,
    /// Whose conversations it may continue, unless it names a session.
    pub(super) scope: Scope,
    /// System and tools, as one number.
    pub(super) frame: u64,
    /// By its bytes alone it is under every threshold, and nothing is to be added to it.
    pub(super) surely_fits: bool,
}

impl Daemon {
    pub(super) fn asked(&self, told: Told) -> Result<Asked> {
        let Told { entrance, session, client, messages, .. } = told;
        let inject =
            Inject::of(Some(told.inject.as_deref().unwrap_or(&self.settings().gateway.inject)))?;
        if messages.is_empty() {
            return Err(Refusal::invalid("messages", "at least one message"));
        }
        let model = self.client_model(told.model, told.max_output)?;
        let tools = told.tools.as_ref().map_or("[]", |tools| tools.get());
        let readings = read_all(&messages)?;
        let mut chain = Chain::new(&[&model.name, tools]);
        let marks = readings.iter().map(|reading| chain.push(reading)).map(|Prefix(mark)| mark);
        let marks = marks.collect();
        let system = told.system.unwrap_or_default();
        let project_dir = told.project_dir.or_else(|| spoken_dir(&system, messages.first()));
        let scope = match &client {
            Some(ClientKey { entrance, key }) => Scope::of(&["client", entrance, key]),
            None => Scope::of(&["wire", entrance, project_dir.as_deref().unwrap_or_default()]),
        };
        let media: u64 = readings.iter().map(|reading| u64::from(reading.media)).sum();
        let most = told.body_bytes as u64 + media * MEDIA_TOKENS;
        let surely_fits = inject == Inject::Off && most < self.thresholds(&model)?.auto;
        let Scope(frame) = Scope::of(&[&system, tools]);
        let parts = vec![bethink_api::SystemPart { part: SYSTEM.to_owned(), text: system }];
        let given = Given::new(Some(parts), Some(tools), None)?;
        Ok(Asked {
            entrance,
            model,
            session,
            client,
            project_dir,
            given,
            messages,
            inject,
            readings,
            marks,
            chain,
            scope,
            frame,
            surely_fits,
        })
    }
}

fn read_all(messages: &[Bytes]) -> Result<Vec<Reading>> {
    let mut reader = Reader::default();
    let read = messages.iter().enumerate().map(|(i, message)| {
        reader
            .read(message)
            .map_err(|problem| Refusal::invalid(format!("messages[{i}]"), problem.to_string()))
    });
    read.collect()
}

impl Asked {
    /// What tells conversations apart before the first answer.
    pub(super) fn setting(&self) -> [&str; 2] {
        [&self.model.name, &self.given.tools]
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
            Message::parse(meta, raw, Source::Client).map_err(|problem| {
                let dot = if problem.field.is_empty() { "" } else { "." };
                Refusal::invalid(format!("messages[{i}]{dot}{}", problem.field), problem.problem)
            })
        })
        .collect()
    }

    pub(super) fn prepared(self: &Arc<Self>, place: &Place, prompt: Prompt) -> Prepared {
        let (length, mark) = self.whole();
        let bytes = self.bytes_of(&prompt);
        let held = Held {
            session: place.session,
            scope: place.scope,
            entrance: self.entrance,
            length,
            chain: self.chain.clone(),
            mark,
            request: Mutex::new(Some((bytes, Arc::clone(self)))),
        };
        Prepared { ticket: Ticket(Arc::new(held)), session: place.session, prompt }
    }

    /// Bytes that go up of what is ours to change.
    fn bytes_of(&self, prompt: &Prompt) -> usize {
        let own = |index: usize| self.messages.get(index).map_or(0, Bytes::len);
        match prompt {
            Prompt::Unchanged => (0..self.messages.len()).map(own).sum(),
            Prompt::Changed { system_added, messages } => {
                let pieces = messages.iter().map(|piece| match piece {
                    Piece::Client(index) => own(*index),
                    Piece::Written(bytes) => bytes.len(),
                });
                pieces.sum::<usize>() + system_added.as_ref().map_or(0, String::len)
            }
        }
    }
}

pub(super) fn fresh_id() -> Result<MessageId> {
    MessageId::new(&Uuid::now_v7().to_string()).map_err(Refusal::internal)
}

/// Instructions within a conversation are kept as the user's, with the role that they had.
fn spoken_by_user(raw: Bytes, speaker: Speaker) -> Result<Bytes> {
    if speaker != Speaker::Other {
        return Ok(raw);
    }
    let text = std::str::from_utf8(&raw).map_err(Refusal::internal)?;
    let members = json::members(text).unwrap_or_default();
    let role = members.iter().find(|(name, _)| name == "role").map(|(_, role)| role.get());
    let kept = role.and_then(|role| json::with_member(text, "said_as", role));
    let kept = kept.as_deref().and_then(|kept| std::str::from_utf8(kept).ok());
    kept.and_then(|kept| json::with_member(kept, "role", r#""user""#))
        .ok_or_else(|| Refusal::internal("a role could not be kept"))
}
