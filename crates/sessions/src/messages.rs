//! Messages: append, read.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bethink_api as api;
use bethink_context::{Thresholds, fill_level};
use bethink_prefix_match::LikenessReader;
use bethink_service::{
    Event, Receipt, Result, ServiceError, key_reused, page_limit, parse_rfc3339, parse_stored,
    rfc3339,
};
use bethink_store::{
    Append, AppendResult, NewMessage, SeqRange, StoreError, StoreResult, StoredMessage,
};
use bethink_transcript::json::{self, Cursor};
use bethink_transcript::message::{MessageObject, MessageSource, ParseError};
use bethink_transcript::{Message, MessageId, MessageMeta, Role, Seq, SessionId, UnixMicros};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tokio::time::timeout;
use uuid::Uuid;

use crate::hand_over::TAKE_TRIES;
use crate::handle::{EvictedSession, MAX_LOAD_BYTES, SessionHandle};
use crate::loaded::LoadedSession;
use crate::service::{SessionEvent, SessionService};

/// How long an append waits for the level of a session that another request is loading for the first time. Without a level, the
/// answer would say that nothing remains of the window.
const FIRST_LEVEL_WAIT: Duration = Duration::from_millis(250);

impl SessionService {
    /// Appends messages, which are durable and searchable when the response is sent. Stores the whole request or nothing.
    pub async fn append(
        &self,
        id: SessionId,
        body: Bytes,
        key: Option<Receipt>,
    ) -> Result<api::Appended> {
        let messages = self.read_messages(&body, self.cx.now())?;
        self.refuse_unrecorded(id, &messages).await?;
        let append =
            Append { only_new: true, receipt: key, ..self.append_of(id, &messages, false) };
        let work = self.clone().store_and_publish(append, messages, true);
        Ok(self.cx.run_to_completion(work).await?.0)
    }

    /// Refuses messages of a project that is excluded from recording, and messages from a pause. The error tells the
    /// client that they are not stored, so that it can leave them out.
    async fn refuse_unrecorded(&self, id: SessionId, messages: &[Message]) -> Result<()> {
        let rules = self.cx.recording();
        // An append reads the session's record only if the project matters.
        let project_dir = match rules.has_exclusions() {
            true => self.cx.store().session(id).await?.project_dir,
            false => String::new(),
        };
        if let Some(why) = self.cx.unrecorded(&project_dir) {
            return Err(why.into());
        }
        let is_from_pause = |message: &Message| rules.pause_at(message.created_at).is_some();
        let Some(number) = messages.iter().position(is_from_pause) else { return Ok(()) };
        let refusal =
            ServiceError::conflict("one of these messages was created while recording was paused")
                .hint("send the request again without the messages from the pause");
        Err(ServiceError { field: Some(format!("messages[{number}].created_at")), ..refusal })
    }

    /// Stores messages that another service read, and returns the place of each and whether it is new. `recorded`
    /// messages are stored as the provider wrote them, so several may belong to one answer.
    pub async fn record(
        &self,
        session: SessionId,
        messages: Vec<Message>,
        recorded: bool,
    ) -> Result<(api::Appended, Vec<(Seq, bool)>)> {
        let append = self.append_of(session, &messages, recorded);
        let work = self.clone().store_and_publish(append, messages, false);
        self.cx.run_to_completion(work).await
    }

    /// Refuses messages that are stored with other content: they would be lost.
    async fn refuse_changed(
        &self,
        id: SessionId,
        messages: &[Message],
        places: &[(usize, Seq)],
    ) -> Result<()> {
        let at = places.iter().map(|(_, seq)| (id, *seq)).collect();
        let stored = self.cx.store().messages_at(at).await?;
        let stored: HashMap<Seq, Bytes> = stored.into_iter().map(|(_, m)| (m.seq, m.raw)).collect();
        for (number, seq) in places {
            if let (Some(message), Some(stored)) = (messages.get(*number), stored.get(seq)) {
                refuse_other(*number, message, stored)?;
            }
        }
        Ok(())
    }

    fn append_of(&self, session: SessionId, messages: &[Message], recorded: bool) -> Append {
        let messages = messages.iter().map(|message| NewMessage::of(message, recorded)).collect();
        Append { session, messages, only_new: false, receipt: None, at: self.cx.now() }
    }

    /// Must run to its end: stored messages are published even if the client disconnects.
    async fn store_and_publish(
        self,
        append: Append,
        messages: Vec<Message>,
        by_client: bool,
    ) -> Result<(api::Appended, Vec<(Seq, bool)>)> {
        let id = append.session;
        let receipt = append.receipt.clone();
        let stored = match self.store_append(append).await {
            Err(StoreError::AlreadyStored(places)) => {
                self.refuse_changed(id, &messages, &places).await?;
                self.store_append(Append { receipt, ..self.append_of(id, &messages, false) }).await
            }
            stored => stored,
        };
        let (stored, handle) = stored.map_err(key_reused)?;
        let mut fresh = Vec::with_capacity(messages.len());
        for (mut message, (seq, new)) in messages.into_iter().zip(&stored.places) {
            if *new && !stored.repeated {
                message.seq = *seq;
                self.cx.hub().publish(id, *seq, &message_event(*seq, &message.id, message.role));
                fresh.push(Arc::new(message));
            }
        }
        metrics::counter!("bethink_messages_appended_total").increment(fresh.len() as u64);
        self.cx.jobs().note_activity();
        self.tell(&SessionEvent::Appended { handle: &handle, new: &fresh, by_client });
        handle.deliver(fresh.iter().cloned());
        // The request that stored these messages may have been interrupted before it delivered them. Messages that were
        // delivered are skipped.
        let again = stored.places.iter().filter(|(_, new)| !new || stored.repeated);
        let again: Vec<Seq> = again.map(|(seq, _)| *seq).collect();
        if let (Some(first), Some(last)) = (again.iter().min(), again.iter().max()) {
            let range = SeqRange { before: Some(last.next()), ..SeqRange::from(*first) };
            let messages = self.cx.store().messages(id, range).await?;
            let messages: Result<Vec<_>> =
                messages.into_iter().map(|m| Ok(Arc::new(parse_stored(m)?))).collect();
            handle.deliver(messages?);
        }
        let seqs = || stored.places.iter().map(|(seq, _)| seq.0);
        let answer = api::Appended {
            appended: stored.places.iter().filter(|(_, new)| *new).count() as u64,
            first_seq: seqs().min().unwrap_or(0),
            last_seq: seqs().max().unwrap_or(0),
            context: self.level_after_append(&handle, &fresh).await,
        };
        // The memory budget also applies to clients that append and never request a prompt.
        self.finish_use(handle);
        Ok((answer, stored.places))
    }

    /// Stores an append, and returns the session's handle. Takes the session first if another daemon has it.
    async fn store_append(
        &self,
        append: Append,
    ) -> StoreResult<(AppendResult, Arc<SessionHandle>)> {
        let (store, id) = (self.cx.store(), append.session);
        if !store.is_shared() {
            let stored = store.append(append).await?;
            return Ok((stored, self.inner.registry.enter(id).await?));
        }
        // While the handle is used, this daemon does not give the session up.
        let mut handle = self.inner.registry.enter(id).await?;
        for _ in 0..TAKE_TRIES {
            match store.append(append.clone()).await {
                Err(StoreError::Moved { .. }) => {
                    drop(handle);
                    handle = self.take_back(id).await?;
                }
                Err(error @ StoreError::NotFound { .. }) => {
                    self.inner.registry.remove(id);
                    return Err(error);
                }
                stored => return Ok((stored?, handle)),
            }
        }
        Ok((store.append(append).await?, handle))
    }

    /// Returns how full the window is, without waiting for a prompt. A session that is not in memory is loaded only if
    /// it has grown enough that its notes may be due, and if it is not too large.
    async fn level_after_append(
        &self,
        handle: &Arc<SessionHandle>,
        fresh: &[Arc<Message>],
    ) -> api::ContextLevel {
        let mut state = match (Arc::clone(&handle.state).try_lock_owned(), handle.noted_level()) {
            (Ok(state), _) => state,
            (Err(_), Some(noted)) => return noted,
            // Another request is loading the session for the first time.
            (Err(_), None) => {
                let lock = Arc::clone(&handle.state).lock_owned();
                match timeout(FIRST_LEVEL_WAIT, lock).await {
                    Ok(state) => state,
                    Err(_) => return handle.noted_level().unwrap_or_default(),
                }
            }
        };
        let evicted = match *state {
            Some(_) => Ok(None),
            None => self.evicted_or_loaded(handle, fresh, &mut state).await,
        };
        let Ok(evicted) = evicted else { return handle.noted_level().unwrap_or_default() };
        if let Some(evicted) = evicted {
            self.watch_cache(handle, &evicted.model, fresh);
            self.note_level(handle, &evicted.thresholds, evicted.tokens);
        } else if let Ok(loaded) = self.up_to_date(handle, state).await {
            self.note_level(handle, &loaded.state.thresholds, loaded.measured());
            self.stage_if_due(handle, &loaded);
            self.tell(&SessionEvent::Settled { handle, loaded: &loaded });
            let is_too_large = loaded.state.history.weight() > MAX_LOAD_BYTES;
            drop(loaded);
            if is_too_large {
                handle.evict();
            }
        }
        handle.noted_level().unwrap_or_default()
    }

    /// Returns what is known about a session that stays out of memory. If it has grown enough and is not too large,
    /// loads it and returns `None`.
    async fn evicted_or_loaded(
        &self,
        handle: &SessionHandle,
        fresh: &[Arc<Message>],
        state: &mut Option<LoadedSession>,
    ) -> Result<Option<EvictedSession>> {
        if let Some(evicted) = handle.grow(fresh) {
            return Ok(Some(evicted));
        }
        let (loaded, bytes) = self.load(handle, MAX_LOAD_BYTES).await?;
        if bytes > MAX_LOAD_BYTES {
            let evicted = EvictedSession::of(&loaded, bytes);
            handle.note_evicted(evicted.clone());
            return Ok(Some(evicted));
        }
        *state = Some(loaded);
        handle.forget_evicted();
        Ok(None)
    }

    fn note_level(&self, handle: &SessionHandle, thresholds: &Thresholds, tokens: u64) {
        handle.note_level(api::ContextLevel {
            tokens,
            level: fill_level(thresholds, tokens),
            remaining: self.compacts_at(thresholds).auto.saturating_sub(tokens),
        });
    }

    /// Reads the messages of a request in one pass over its body. Detailed errors are only computed after a failure.
    fn read_messages(&self, body: &Bytes, now: UnixMicros) -> Result<Vec<Message>> {
        let limits = &self.cx.settings().daemon;
        let depth = usize::try_from(limits.max_depth).unwrap_or(usize::MAX);
        let mut at = Cursor::with_depth(body, depth);
        let mut messages = Vec::new();
        let read = at.object(["messages"], |at, _| {
            at.array(|at| {
                let message = MessageObject::read(body, at)?;
                messages.push(message_of(message, now).map_err(|_| at.wrong())?);
                if messages.len() as u64 > limits.max_messages { Err(at.wrong()) } else { Ok(()) }
            })
        });
        let is_whole = std::str::from_utf8(body).is_ok() && read == Ok(true) && at.end().is_ok();
        if !is_whole || messages.is_empty() {
            return Err(self.describe_fault(body, now));
        }
        let mut first: HashMap<&MessageId, &Message> = HashMap::new();
        for (number, message) in messages.iter().enumerate() {
            if let Some(first) = first.insert(&message.id, message) {
                refuse_other(number, message, first.raw())?;
            }
        }
        Ok(messages)
    }

    fn describe_fault(&self, body: &Bytes, now: UnixMicros) -> ServiceError {
        #[derive(Deserialize)]
        struct AppendBody<'a> {
            #[serde(borrow)]
            messages: Vec<&'a RawValue>,
        }
        /// A duplicate of one of these two keys makes the message invalid.
        #[derive(Deserialize)]
        #[allow(dead_code, reason = "only whether it can be read matters")]
        struct MessageEnvelope {
            id: Option<IgnoredAny>,
            created_at: Option<IgnoredAny>,
        }
        let request: AppendBody<'_> = match serde_json::from_slice(body) {
            Ok(request) => request,
            Err(error) => {
                let error = ServiceError::of_json("", &error.to_string(), "messages");
                let detail =
                    format!("the body must be {{\"messages\": [...]}}: {}", error.sentence());
                return ServiceError::invalid("messages", detail);
            }
        };
        let (count, max) = (request.messages.len() as u64, self.cx.settings().daemon.max_messages);
        if count == 0 {
            return ServiceError::invalid("messages", "must contain at least one message");
        }
        if count > max {
            let detail = format!("must contain at most {max} messages");
            return ServiceError::invalid("messages", detail).bounded(max, count);
        }
        for (i, raw) in request.messages.iter().enumerate() {
            let raw = body.slice_ref(raw.get().as_bytes());
            let wrong = match serde_json::from_slice::<MessageEnvelope>(&raw) {
                Err(_) => Some(ParseError {
                    field: String::new(),
                    problem: "a message must be an object with `role` and `content`".to_owned(),
                }),
                Ok(_) => {
                    MessageObject::whole(&raw).and_then(|message| message_of(message, now)).err()
                }
            };
            if let Some(ParseError { field, problem }) = wrong {
                let dot = if field.is_empty() || field.starts_with('[') { "" } else { "." };
                return ServiceError::invalid(format!("messages[{i}]{dot}{field}"), problem);
            }
        }
        ServiceError::invalid("body", "the body is not UTF-8, or is nested too deeply")
    }

    /// Returns a page of history with its original bytes.
    pub async fn messages(
        &self,
        id: SessionId,
        after_seq: Option<u64>,
        before_seq: Option<u64>,
        limit: Option<usize>,
    ) -> Result<api::MessagesPage> {
        let limit = page_limit(limit)?;
        self.cx.store().session(id).await?;
        let range = SeqRange {
            after: after_seq.map(Seq),
            before: before_seq.map(Seq),
            limit,
            // When reading backwards, the nearest messages come first.
            newest: after_seq.is_none() && before_seq.is_some(),
            ..SeqRange::all()
        };
        let stored = self.cx.store().messages(id, range).await?;
        let next_cursor = (stored.len() == limit && !range.newest)
            .then(|| stored.last().map(|m| m.seq.to_string()))
            .flatten();
        let messages = stored.into_iter().map(stored_out).collect::<Result<_>>()?;
        Ok(api::MessagesPage { messages, next_cursor })
    }
}

/// Refuses a message whose id another message has. Clients send a message again with small differences, which are no
/// reason to refuse it.
fn refuse_other(number: usize, message: &Message, first: &Bytes) -> Result<()> {
    let mut reader = LikenessReader::default();
    let mut likeness = |raw: &Bytes| reader.read(raw).map(|reading| reading.likeness).ok();
    let (own, stored) = (likeness(message.raw()), likeness(first));
    if message.raw() == first || (own.is_some() && own == stored) {
        return Ok(());
    }
    let detail = format!("the session has another message with the id {:?}", message.id.as_str());
    Err(ServiceError::invalid(format!("messages[{number}].id"), detail)
        .hint("stored messages cannot be changed: send only new messages, each with its own id, or fork the session"))
}

/// Reads one message of an append, with the client's id and time if they are given.
fn message_of(
    message: MessageObject<'_>,
    now: UnixMicros,
) -> std::result::Result<Message, ParseError> {
    let wrong = |field: &str, problem: String| ParseError { field: field.to_owned(), problem };
    let id = match message.id {
        None => MessageId::new(&Uuid::now_v7().to_string()),
        Some(json) if json.starts_with('"') => MessageId::new(&json::decode_string(json)),
        Some(_) => return Err(wrong("id", "must be a string".to_owned())),
    }
    .map_err(|e| wrong("id", e.to_string()))?;
    let created_at = match message.created_at {
        None => now,
        Some(json) => parse_rfc3339(&json::decode_string(json)).ok_or_else(|| {
            let problem = "must be an RFC 3339 time such as 2026-01-31T12:00:00Z";
            wrong("created_at", problem.to_owned())
        })?,
    };
    message.message(MessageMeta { seq: Seq::ZERO, id, created_at }, MessageSource::Client)
}

pub(crate) fn message_event(seq: Seq, id: &MessageId, role: Role) -> Event {
    Event::Message { seq, id: id.to_string(), role: role.as_str() }
}

pub fn stored_out(stored: StoredMessage) -> Result<api::HistoryMessage> {
    let raw = String::from_utf8(stored.raw.into()).map_err(ServiceError::internal)?;
    Ok(api::HistoryMessage {
        seq: stored.seq.0,
        id: stored.id.to_string(),
        role: stored.role,
        created_at: rfc3339(stored.created_at),
        message: RawValue::from_string(raw).map_err(ServiceError::internal)?,
    })
}

#[cfg(test)]
mod tests {
    use bethink_config::Settings;
    use bethink_service::ErrorKind;
    use serde_json::{Value, json};

    use super::*;
    use crate::tests::home::SessionsHome;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_invalid_request_is_described() {
        let directory = tempfile::tempdir().unwrap();
        let mut settings = Settings::at(directory.path());
        settings.daemon.max_messages = 2;
        let home = SessionsHome::open(settings).await;
        let id = home.session(&[]).await;
        let good = r#"{"role":"user","content":"x"}"#;
        for (body, field, detail) in [
            ("{}", "messages", "the body must be {\"messages\": [...]}: `messages` is missing"),
            (
                r#"{"messages":{}}"#,
                "messages",
                "the body must be {\"messages\": [...]}: `messages` must be an array",
            ),
            (r#"{"messages":[],"messages":[]}"#, "messages", "the body must be"),
            (r#"{"messages":[]}"#, "messages", "must contain at least one message"),
            (
                &format!(r#"{{"messages":[{good},{good},7]}}"#),
                "messages",
                "must contain at most 2 messages",
            ),
            (
                &format!(r#"{{"messages":[{good},7]}}"#),
                "messages[1]",
                "a message must be an object",
            ),
            (
                r#"{"messages":[{"id":"a","id":"a","role":"user","content":"x"}]}"#,
                "messages[0]",
                "a message must be an object with `role` and `content`",
            ),
            (
                r#"{"messages":[{"role":"user","role":"user","content":"x"}]}"#,
                "messages[0]",
                "not a message object: duplicate field `role`",
            ),
            (
                r#"{"messages":[{"role":"robot","content":[7],"id":8}]}"#,
                "messages[0].id",
                "must be a string",
            ),
            (
                r#"{"messages":[{"content":[7],"role":"robot"}]}"#,
                "messages[0].role",
                "\"robot\" is not a role",
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"text"}]}]}"#,
                "messages[0].content[0].text",
                "is missing",
            ),
            (
                r#"{"messages":[{"role":"user","content":"x","created_at":"now"}]}"#,
                "messages[0].created_at",
                "must be an RFC 3339 time",
            ),
        ] {
            let refusal = home.sessions.append(id, body.to_owned().into(), None).await.unwrap_err();
            assert_eq!(refusal.field.as_deref(), Some(field), "{body}: {refusal}");
            assert!(refusal.detail.starts_with(detail), "{body}: {refusal}");
        }
        home.close().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_must_not_be_recorded_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let mut settings = Settings::at(directory.path());
        settings.capture.exclude = vec!["/secret/**".to_owned()];
        let home = SessionsHome::open(settings).await;
        let (id, cx) = (home.session(&[]).await, &home.sessions.cx);
        let hidden = serde_json::from_value(json!({ "project_dir": "/secret/client" })).unwrap();
        let hidden = SessionId(home.sessions.create_session(hidden, None).await.unwrap().id);
        let append = async |id, message: Value| {
            let body = json!({ "messages": [{ "role": "user", "content": "x" }, message] });
            let done = home.sessions.append(id, body.to_string().into(), None).await;
            done.map_err(|refusal| (refusal.kind, refusal.detail, refusal.field))
        };
        let now = json!({ "role": "user", "content": "x" });
        let (kind, why, _) = append(hidden, now.clone()).await.unwrap_err();
        assert_eq!(kind, ErrorKind::Conflict);
        assert!(why.contains("/secret/**"), "{why}");
        append(id, now.clone()).await.unwrap();
        cx.pause_recording(api::PauseRequest::default()).await.unwrap();
        let (kind, why, _) = append(id, now.clone()).await.unwrap_err();
        assert_eq!((kind, why.as_str()), (ErrorKind::Conflict, "recording is paused"));
        let since = cx.recording_pause().unwrap().since;
        cx.resume_recording().await.unwrap();
        let dated = json!({ "role": "user", "content": "x", "created_at": since });
        let (kind, _, field) = append(id, dated).await.unwrap_err();
        let expected = (ErrorKind::Conflict, Some("messages[1].created_at".to_owned()));
        assert_eq!((kind, field), expected);
        append(id, now).await.unwrap();
        assert_eq!(cx.store().session(id).await.unwrap().last_seq, Seq(4));
        home.close().await;
    }

    /// An id that is used twice would lose the second message.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_id_of_another_message_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let home = SessionsHome::open(Settings::at(directory.path())).await;
        let id = home.session(&[]).await;
        let key = || Some(Receipt { key: "key".to_owned(), fingerprint: "print".to_owned() });
        let append = async |messages: Value, key| {
            let body = json!({ "messages": messages }).to_string();
            home.sessions.append(id, body.into(), key).await
        };
        let one = json!({ "id": "m1", "role": "user", "content": "one" });
        let first = append(json!([one]), key()).await.unwrap();
        let again = append(json!([one]), key()).await.unwrap();
        assert_eq!((first.appended, again.appended), (1, 1), "the same answer");
        let text =
            json!([{ "type": "text", "text": "one", "cache_control": { "type": "ephemeral" } }]);
        let alike = json!({ "content": text, "role": "user", "id": "m1" });
        assert_eq!(append(json!([alike]), None).await.unwrap().appended, 0);
        let new = json!({ "id": "m2", "role": "user", "content": "two" });
        let other = json!({ "id": "m1", "role": "user", "content": "other" });
        let own = json!({ "id": "m2", "role": "assistant", "content": "two" });
        for messages in [json!([new, other]), json!([new, own])] {
            let refused = append(messages, None).await.unwrap_err();
            let expected = (ErrorKind::Invalid, Some("messages[1].id"));
            assert_eq!((refused.kind, refused.field.as_deref()), expected);
        }
        assert_eq!(home.cx.store().session(id).await.unwrap().last_seq, Seq(1));
        assert_eq!(append(json!([one, new]), None).await.unwrap().appended, 1);
        home.close().await;
    }

    /// The session is locked by the first request, which loads it.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_append_to_a_session_that_is_being_loaded_tells_its_level() {
        let directory = tempfile::tempdir().unwrap();
        let home = SessionsHome::open(Settings::at(directory.path())).await;
        let id = home.session(&[json!({ "role": "user", "content": "one" })]).await;
        home.sessions.inner.registry.remove(id);
        let handle = home.sessions.handle(id).await.unwrap();
        let loading = Arc::clone(&handle.state).lock_owned().await;
        let body = json!({ "messages": [{ "role": "user", "content": "two" }] }).to_string();
        let append = home.sessions.append(id, body.into(), None);
        let loaded = async {
            while home.cx.store().session(id).await.unwrap().last_seq < Seq(2) {
                tokio::task::yield_now().await;
            }
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            drop(loading);
        };
        let (appended, ()) = tokio::join!(append, loaded);
        let level = appended.unwrap().context;
        assert!(level.tokens > 0 && level.remaining > 0, "{level:?}");
        drop(handle);
        home.close().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_append_does_not_load_an_evicted_session() {
        let directory = tempfile::tempdir().unwrap();
        let home = SessionsHome::open(Settings::at(directory.path())).await;
        let ids = [home.session(&[]).await, home.session(&[]).await];
        let append = async |id, words| {
            let message = json!({ "role": "user", "content": "tide\n".repeat(words) });
            let body = json!({ "messages": [message] }).to_string();
            let level = home.sessions.append(id, body.into(), None).await.unwrap().context;
            (level.tokens, level.level, level.remaining)
        };
        let handle = async || home.sessions.handle(ids[0]).await.unwrap();
        for (words, loads) in [(100, true), (200, false), (50, false), (20_000, true)] {
            let level = append(ids[0], words).await;
            assert_eq!(handle().await.state.lock().await.is_some(), loads, "{words}");
            assert_eq!(level, append(ids[1], words).await, "the same level as in memory: {words}");
            let kept = home.sessions.handle(ids[1]).await.unwrap();
            home.sessions.inner.registry.evict(0);
            drop(kept);
        }
        // A loaded session has all messages.
        let loaded = home.sessions.lock(&handle().await).await.unwrap();
        assert_eq!((loaded.session.last_seq, loaded.messages().len()), (Seq(4), 4));
        drop(loaded);
        home.close().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_session_that_is_too_large_leaves_memory_even_while_it_is_in_use() {
        let directory = tempfile::tempdir().unwrap();
        let home = SessionsHome::open(Settings::at(directory.path())).await;
        let id = home.session(&[]).await;
        // The memory budget only applies to handles that nobody uses.
        let used = home.sessions.handle(id).await.unwrap();
        let message = json!({ "role": "user", "content": "x".repeat(MAX_LOAD_BYTES / 2) });
        let body = json!({ "messages": [message] }).to_string();
        let mut tokens = 0;
        for number in 1..=3 {
            let level = home.sessions.append(id, body.clone().into(), None).await.unwrap().context;
            tokens = tokens.max(level.tokens / number);
            assert_eq!(level.tokens, number * tokens, "each message counts");
        }
        assert!(used.state.lock().await.is_none());
        assert!(used.weight() < MAX_LOAD_BYTES / 2, "{} bytes", used.weight());
        assert_eq!(home.sessions.lock(&used).await.unwrap().messages().len(), 3);
        drop(used);
        home.close().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_append_does_not_load_a_session_that_is_too_large() {
        let directory = tempfile::tempdir().unwrap();
        let home = SessionsHome::open(Settings::at(directory.path())).await;
        let id = home.session(&[]).await;
        let append = async |bytes| {
            let message = json!({ "role": "user", "content": "x".repeat(bytes) });
            let body = json!({ "messages": [message] }).to_string();
            home.sessions.append(id, body.into(), None).await.unwrap().context.tokens
        };
        let is_loaded =
            async || home.sessions.handle(id).await.unwrap().state.lock().await.is_some();
        let half = MAX_LOAD_BYTES / 2;
        let first = append(half).await;
        assert!(is_loaded().await, "a small session is loaded");
        home.sessions.inner.registry.evict(0);
        let second = append(half).await;
        assert_eq!(
            (is_loaded().await, second),
            (false, 2 * first),
            "too large since it was evicted"
        );
        home.sessions.inner.registry.remove(id);
        let third = append(half).await;
        assert_eq!(
            (is_loaded().await, third),
            (false, 3 * first),
            "of a daemon that was restarted"
        );
        let handle = home.sessions.handle(id).await.unwrap();
        let (counted, bytes) = home.sessions.load(&handle, half).await.unwrap();
        assert!(bytes > 2 * half && counted.messages().len() < 2, "counted, and not kept");
        // A prompt loads all of it.
        let loaded = home.sessions.lock(&handle).await.unwrap();
        assert_eq!((loaded.messages().len(), loaded.estimated()), (3, third));
        let messages = loaded.messages();
        drop((loaded, handle));
        home.sessions.inner.registry.evict(0);
        let evicted = home.sessions.handle(id).await.unwrap();
        assert!(
            evicted.grow(&messages).is_some(),
            "its history is not read again each time it grows"
        );
        home.close().await;
    }
}
