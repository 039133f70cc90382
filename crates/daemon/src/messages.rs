//! Messages: append, read.

use std::sync::Arc;

use bethink_api as api;
use bethink_store::{Append, NewMessage, SeqRange, StoredMessage};
use bethink_transcript::message::Source;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, SessionId, UnixMicros, json};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::clock::{self, rfc3339};
use crate::events::message_event;
use crate::hot::Slot;
use crate::index::UNINDEXED;
use crate::refusal::keyed;
use crate::sessions::page_limit;
use crate::{Daemon, IdempotencyKey, Refusal, Result};

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    created_at: Option<&'a RawValue>,
}

impl Daemon {
    /// Durable and searchable when answered; all of the request or nothing.
    pub async fn append(
        &self,
        id: SessionId,
        body: Bytes,
        key: Option<IdempotencyKey>,
    ) -> Result<api::Appended> {
        let now = self.now();
        let (messages, new) = self.read_messages(&body, now)?;
        let append = Append {
            session: id,
            messages: new,
            receipt: key.map(IdempotencyKey::receipt),
            at: now,
        };
        // A client that hangs up takes nothing back: what is stored is also told and shown.
        let daemon = self.clone();
        let work = async move {
            let appended = daemon.store_and_tell(append, messages).await;
            // What a client resends through the gateway is no longer all that the session has.
            daemon.gateway().forget(id);
            appended
        };
        let (appended, _) = self.inner.tracker.spawn(work).await.map_err(Refusal::internal)??;
        Ok(appended)
    }

    /// With the place of each message, and whether it is new there.
    pub(crate) async fn store_and_tell(
        &self,
        append: Append,
        messages: Vec<Message>,
    ) -> Result<(api::Appended, Vec<(Seq, bool)>)> {
        let id = append.session;
        let stored = self.store().append(append).await.map_err(keyed)?;
        let mut fresh = Vec::with_capacity(messages.len());
        let mut appended = 0;
        for (mut message, (seq, new)) in messages.into_iter().zip(&stored.places) {
            if *new && !stored.repeated {
                appended += 1;
                message.seq = *seq;
                self.hub().publish(
                    id,
                    "message",
                    *seq,
                    &message_event(*seq, message.id.as_str(), message.role.as_str()),
                );
                fresh.push(Arc::new(message));
            }
        }
        metrics::counter!("bethink_messages_appended_total").increment(appended);
        self.note_append();
        if fresh.iter().any(|message| message.seq.0.is_multiple_of(UNINDEXED)) {
            self.index_soon(id);
        }
        let slot = self.registry().open(id);
        self.ask_extraction_gate(&slot, fresh.last().map(AsRef::as_ref));
        slot.deliver(fresh);
        // The first to send them may not have come so far yet; what is there already is passed by.
        let again = stored.places.iter().filter(|(_, new)| !new || stored.repeated);
        let again: Vec<Seq> = again.map(|(seq, _)| *seq).collect();
        if let (Some(first), Some(last)) = (again.iter().min(), again.iter().max()) {
            let range = SeqRange { before: Some(last.next()), ..SeqRange::from(*first) };
            let messages = self.store().messages(id, range).await?;
            let messages: Result<Vec<_>> =
                messages.into_iter().map(|m| Ok(Arc::new(crate::hot::parsed(m)?))).collect();
            slot.deliver(messages?);
        }
        let seqs = || stored.places.iter().map(|(seq, _)| seq.0);
        let told = api::Appended {
            appended,
            first_seq: seqs().min().unwrap_or(0),
            last_seq: seqs().max().unwrap_or(0),
            context: self.level_after_append(&slot).await,
        };
        Ok((told, stored.places))
    }

    /// How full the window is, without waiting for a prompt that is being made.
    async fn level_after_append(&self, slot: &Slot) -> api::ContextLevel {
        if let Some(hot) = slot.try_lock(self).await {
            let tokens = hot.view_tokens + hot.fixed_tokens;
            let level = api::ContextLevel {
                tokens,
                level: hot.thresholds.level(tokens).as_str().to_owned(),
                remaining: self.compacts_at(&hot).auto.saturating_sub(tokens),
            };
            slot.note(&level);
            self.ask_notes_gate(slot, &hot);
            self.ask_collapse_gate(slot, &hot);
            self.recall_ahead(slot, &hot);
            self.ask_dream_gate(slot, &hot);
        }
        slot.noted()
    }

    fn read_messages(
        &self,
        body: &Bytes,
        now: UnixMicros,
    ) -> Result<(Vec<Message>, Vec<NewMessage>)> {
        let request: Request<'_> = serde_json::from_slice(body).map_err(|e| {
            Refusal::invalid("messages", format!("the body must be {{\"messages\": [...]}}: {e}"))
        })?;
        let most = self.settings().daemon.max_messages;
        let count = request.messages.len() as u64;
        if count == 0 {
            return Err(Refusal::invalid("messages", "at least one message"));
        }
        if count > most {
            return Err(Refusal::invalid("messages", format!("at most {most} messages a request"))
                .bounded(most, count));
        }
        let mut messages = Vec::with_capacity(request.messages.len());
        let mut new = Vec::with_capacity(request.messages.len());
        for (i, raw) in request.messages.iter().enumerate() {
            let message = read_message(body, raw, now).map_err(|(field, problem)| {
                let dot = if field.is_empty() || field.starts_with('[') { "" } else { "." };
                Refusal::invalid(format!("messages[{i}]{dot}{field}"), problem)
            })?;
            new.push(NewMessage {
                id: message.id.clone(),
                role: message.role,
                raw: message.raw().clone(),
                recorded: false,
                created_at: message.created_at,
            });
            messages.push(message);
        }
        Ok((messages, new))
    }

    /// Raw history, untouched.
    pub async fn messages(
        &self,
        id: SessionId,
        after_seq: Option<u64>,
        before_seq: Option<u64>,
        limit: Option<usize>,
    ) -> Result<api::MessagesPage> {
        let limit = page_limit(limit)?;
        self.store().session(id).await?;
        let range = SeqRange {
            after: after_seq.map(Seq),
            before: before_seq.map(Seq),
            limit,
            // Reading backwards from a place, the nearest come first.
            newest: after_seq.is_none() && before_seq.is_some(),
        };
        let stored = self.store().messages(id, range).await?;
        let next_cursor = (stored.len() == limit && !range.newest)
            .then(|| stored.last().map(|m| m.seq.to_string()))
            .flatten();
        let messages = stored.into_iter().map(stored_out).collect::<Result<_>>()?;
        Ok(api::MessagesPage { messages, next_cursor })
    }
}

/// One message of an append, or the field that is wrong and why.
fn read_message(
    body: &Bytes,
    raw: &RawValue,
    now: UnixMicros,
) -> std::result::Result<Message, (String, String)> {
    let text = raw.get();
    let wrong = |field: &str, problem: &str| (field.to_owned(), problem.to_owned());
    let envelope: Envelope<'_> = serde_json::from_str(text)
        .map_err(|_| wrong("", "a message is an object with `role` and `content`"))?;
    let id = match envelope.id.filter(|raw| raw.get() != "null") {
        None => MessageId::new(&Uuid::now_v7().to_string()),
        Some(raw) if raw.get().starts_with('"') => MessageId::new(&json::decode_string(raw.get())),
        Some(_) => return Err(wrong("id", "must be a string")),
    }
    .map_err(|e| ("id".to_owned(), e.to_string()))?;
    let created_at = match envelope.created_at.filter(|raw| raw.get() != "null") {
        None => now,
        Some(raw) => clock::parse(&json::decode_string(raw.get())).ok_or_else(|| {
            wrong("created_at", "must be an RFC 3339 time such as 2026-01-31T12:00:00Z")
        })?,
    };
    let meta = MessageMeta { seq: Seq::ZERO, id, created_at };
    Message::parse(meta, body.slice_ref(text.as_bytes()), Source::Client)
        .map_err(|e| (e.field, e.problem))
}

pub(crate) fn stored_out(stored: StoredMessage) -> Result<api::StoredMessage> {
    let raw = String::from_utf8(stored.raw.into()).map_err(Refusal::internal)?;
    Ok(api::StoredMessage {
        seq: stored.seq.0,
        id: stored.id.to_string(),
        role: stored.role.to_string(),
        created_at: rfc3339(stored.created_at),
        message: RawValue::from_string(raw).map_err(Refusal::internal)?,
    })
}
