//! Turns new lines of a client's transcripts into messages of its session.

use std::collections::BTreeMap;
use std::path::Path;

use bethink_hook_events::{Delivery, HookEvent};
use bethink_service::{ErrorKind, Result, ServiceError, next_batch};
use bethink_session_file::RecordedCompaction;
use bethink_sessions::model_of;
use bethink_store::{SeqRange, SessionChange, SessionRecord, TranscriptPosition};
use bethink_transcript::{Message, Seq, SessionId};
use bethink_transfer::PausedParts;

use crate::ready::{Tails, Who};
use crate::service::HookService;
use crate::transcript::{FoundMessage, Tail, TranscriptStretch, TranscriptUnreadable};

/// Maximum number of messages that are stored or compared at once.
const BATCH: usize = 500;

impl HookService {
    pub(crate) async fn follow_transcripts(
        &self,
        who: &Who,
        tails: &mut Tails,
        delivery: &Delivery,
    ) -> Result<()> {
        let input = &delivery.input;
        let cwd = input.cwd.as_deref();
        let is_last = delivery.event == HookEvent::SessionEnd;
        if let Some(path) = input.transcript_path.as_deref().map(Path::new)
            && self.follow(who, tails, path, None, cwd, is_last).await?
        {
            // The messages of its subagents come from the same source.
            return Ok(());
        }
        if let Some(path) = input.agent_transcript_path.as_deref().map(Path::new)
            && delivery.event == HookEvent::SubagentStop
        {
            self.follow(who, tails, path, Some(agent_of(path)), cwd, false).await?;
        }
        Ok(())
    }

    /// Reads one file to its end. With `is_last`, nothing more is written to it, so its last line counts even if it has no line
    /// end. Returns whether the session's messages come from another source.
    async fn follow(
        &self,
        who: &Who,
        tails: &mut Tails,
        path: &Path,
        agent: Option<String>,
        cwd: Option<&str>,
        is_last: bool,
    ) -> Result<bool> {
        let mut mark = match self.session_of_client(who).await? {
            Some(session) => {
                let file = path.to_string_lossy().into_owned();
                self.cx.store().transcript_position(session, file).await?.unwrap_or_default()
            }
            // No session begins during a pause. What was said before it is read after the pause.
            None if self.cx.recording_pause().is_some() => return Ok(false),
            None => TranscriptPosition::default(),
        };
        if mark.elsewhere {
            return Ok(true);
        }
        let mut tail = tails.remove(path).unwrap_or_else(|| Tail::new(path, agent.clone()));
        loop {
            if self.cx.stopping().is_cancelled() {
                return Err(ServiceError::new(ErrorKind::ShuttingDown, "the daemon is stopping"));
            }
            let mut stretch;
            (tail, stretch) = self.read_on(tail, mark.clone()).await?;
            let more = stretch.more;
            if is_last && !more {
                tail.end(&mut stretch.found);
            }
            self.take_in_stretch(who, &mut mark, &tail, stretch, path, cwd).await?;
            if !more || mark.elsewhere {
                break;
            }
        }
        if !is_last {
            tails.insert(path.to_owned(), tail);
        }
        Ok(mark.elsewhere)
    }

    async fn read_on(
        &self,
        mut tail: Tail,
        mark: TranscriptPosition,
    ) -> Result<(Tail, TranscriptStretch)> {
        let most = self.cx.settings().daemon.max_import_bytes;
        let reading = tokio::task::spawn_blocking(move || {
            let read = tail.read_on(&mark, most);
            (tail, read)
        });
        match reading.await.map_err(ServiceError::internal)? {
            (tail, Ok(stretch)) => Ok((tail, stretch)),
            // A session without messages has no transcript.
            (tail, Err(TranscriptUnreadable::Gone(_))) => Ok((tail, TranscriptStretch::default())),
            (_, Err(unreadable)) => {
                Err(ServiceError::invalid("transcript_path", unreadable.to_string()))
            }
        }
    }

    async fn take_in_stretch(
        &self,
        who: &Who,
        mark: &mut TranscriptPosition,
        tail: &Tail,
        mut stretch: TranscriptStretch,
        path: &Path,
        cwd: Option<&str>,
    ) -> Result<()> {
        let facts = tail.reader().facts();
        let dir = facts.cwd.as_deref().filter(|dir| dir.starts_with('/')).or(cwd).unwrap_or("/");
        let rules = self.cx.recording();
        let paused = PausedParts::new(rules, facts);
        stretch.found.retain(|found| !paused.has_message(&found.message));
        if stretch.found.is_empty() || rules.excluded(dir).is_some() {
            return Ok(());
        }
        let id = self.session_for(who, dir).await?;
        let session = self.cx.store().session(id).await?;
        mark.elsewhere = self.is_fed_elsewhere(&session, mark, tail).await?;
        if !mark.elsewhere {
            let (own, agents) = by_agent(stretch.found);
            let places = self.store_messages(id, own).await?;
            for (agent, messages) in agents {
                let child = self.child_for(id, &agent, dir).await?;
                self.store_messages(child, messages).await?;
            }
            self.keep_recorded_compactions(id, tail, &paused, &places).await?;
            let title = tail.reader().title().filter(|_| !paused.may_repeat(self.cx.now()));
            self.settle_session(&session, tail, title).await?;
            mark.through = mark.through.max(places.values().copied().max().unwrap_or_default());
        }
        (mark.bytes, mark.hash) = tail.settled();
        let file = path.to_string_lossy().into_owned();
        Ok(self.cx.store().put_transcript_position(id, file, mark.clone()).await?)
    }

    /// Returns whether the session has messages that did not come from this file. If so, the gateway or another client
    /// already appends them, and the transcript would add them again in another form.
    async fn is_fed_elsewhere(
        &self,
        session: &SessionRecord,
        mark: &TranscriptPosition,
        tail: &Tail,
    ) -> Result<bool> {
        if tail.is_agents() || session.last_seq <= mark.through {
            return Ok(false);
        }
        // After a crash, messages from this file may be stored although the position was not.
        let range = SeqRange { after: Some(mark.through), limit: BATCH, ..SeqRange::all() };
        let messages = self.cx.store().messages(session.id, range).await?;
        Ok(messages.iter().any(|message| !tail.reader().knows(message.id.as_str())))
    }

    /// Stores messages, and returns the sequence numbers of the new messages by message ID.
    async fn store_messages(
        &self,
        session: SessionId,
        messages: Vec<Message>,
    ) -> Result<BTreeMap<String, Seq>> {
        let mut places = BTreeMap::new();
        let mut messages = messages.into_iter().peekable();
        while messages.peek().is_some() {
            let some: Vec<Message> = messages.by_ref().take(BATCH).collect();
            let ids: Vec<String> = some.iter().map(|message| message.id.to_string()).collect();
            let (_, stored) = self.sessions.record(session, some, true).await?;
            let fresh = ids.into_iter().zip(stored).filter(|(_, (_, new))| *new);
            places.extend(fresh.map(|(id, (seq, _))| (id, seq)));
        }
        Ok(places)
    }

    /// Stores the compactions that the client made itself.
    async fn keep_recorded_compactions(
        &self,
        session: SessionId,
        tail: &Tail,
        paused: &PausedParts<'_>,
        places: &BTreeMap<String, Seq>,
    ) -> Result<()> {
        let mut is_new = false;
        for compaction in &tail.reader().facts().compactions {
            if paused.has_compaction(compaction) {
                continue;
            }
            let summary = places.get(compaction.summary_id.as_str());
            let place = match (&compaction.kept, summary) {
                (Some(kept), _) if !self.is_recorded(session, compaction).await? => {
                    self.places_of(session, kept).await?
                }
                (None, Some(summary)) => Some((summary.next(), *summary)),
                _ => None,
            };
            if let Some((kept_from, made_after)) = place {
                let add = self
                    .sessions
                    .add_recorded_compaction(session, compaction, kept_from, made_after);
                add.await?;
                is_new = true;
            }
        }
        if is_new && let Some(handle) = self.sessions.open_handle(session) {
            handle.unload().await;
        }
        Ok(())
    }

    /// Returns whether the compaction is already stored. Its summary is not a message, so it has no ID to look up.
    async fn is_recorded(
        &self,
        session: SessionId,
        compaction: &RecordedCompaction,
    ) -> Result<bool> {
        let known = self.cx.store().compactions(session).await?;
        Ok(known.iter().any(|known| {
            known.created_at == compaction.created_at && known.summary == compaction.summary
        }))
    }

    /// Returns the first and the last message that a compaction kept; `None` if one of them is not in the session.
    async fn places_of(
        &self,
        session: SessionId,
        (head, tail): &(String, String),
    ) -> Result<Option<(Seq, Seq)>> {
        let (mut first, mut after) = (None, Seq::ZERO);
        loop {
            let batch = self.cx.store().messages(session, next_batch(after)).await?;
            let Some(last) = batch.last() else { return Ok(None) };
            after = last.seq;
            for message in &batch {
                if message.id.as_str() == head {
                    first = Some(message.seq);
                }
                if message.id.as_str() == tail {
                    return Ok(first.map(|first| (first, message.seq)));
                }
            }
        }
    }

    async fn settle_session(
        &self,
        session: &SessionRecord,
        tail: &Tail,
        title: Option<String>,
    ) -> Result<()> {
        let mut model = model_of(session);
        let named = tail.reader().facts().model.clone().filter(|name| *name != model.name);
        let title = title.filter(|title| !session.titled && session.title.as_ref() != Some(title));
        if named.is_none() && title.is_none() {
            return Ok(());
        }
        let is_other_model = named.is_some();
        model.name = named.unwrap_or(model.name);
        let change = SessionChange {
            title,
            model: Some(serde_json::to_string(&model).map_err(ServiceError::internal)?),
            updated_at: self.cx.now(),
            ..SessionChange::default()
        };
        self.sessions.update(session.id, change).await?;
        if is_other_model && let Some(handle) = self.sessions.open_handle(session.id) {
            handle.unload().await;
        }
        Ok(())
    }
}

/// Splits messages into those of the main thread and those of each subagent.
fn by_agent(found: Vec<FoundMessage>) -> (Vec<Message>, BTreeMap<String, Vec<Message>>) {
    let (mut own, mut agents) = (Vec::new(), BTreeMap::<String, Vec<Message>>::new());
    for FoundMessage { agent, message } in found {
        match agent {
            None => own.push(message),
            Some(agent) => agents.entry(agent).or_default().push(message),
        }
    }
    (own, agents)
}

/// Returns the ID of the subagent, from the name of its transcript file.
fn agent_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.strip_prefix("agent-").unwrap_or(&stem).to_owned()
}
