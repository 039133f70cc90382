//! Adds what an agent has written since its transcript was last read.
//!
//! A session is created with its first answer: until then, the gateway may still begin to record it. Sessions that the
//! gateway records are skipped.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use bethink_agent_transcript::{StorageForm, TranscriptAgent};
use bethink_service::{ErrorKind, Result, ServiceError, next_batch};
use bethink_session_file::RecordedCompaction;
use bethink_sessions::model_of;
use bethink_store::{NewSession, SessionChange, TranscriptPosition};
use bethink_transcript::{Message, Seq, SessionId, UnixMicros};

use crate::TransferService;
use crate::agents::session_id;
use crate::paused::PausedParts;
use crate::source::TranscriptSource;
use crate::tail::{AgentTail, ReadyTails, read_on};

/// Maximum number of messages that are stored at once.
const BATCH: usize = 500;

impl TransferService {
    /// Reads the new part of an agent's transcript. Its messages are appended to the session, which is created if
    /// necessary.
    pub async fn follow(&self, agent: TranscriptAgent, path: PathBuf) -> Result<()> {
        self.follow_since(agent, path, UnixMicros(0)).await
    }

    /// Reads the new part of a file, or the sessions of a database that have changed since the given time.
    pub(crate) async fn follow_since(
        &self,
        agent: TranscriptAgent,
        path: PathBuf,
        since: UnixMicros,
    ) -> Result<()> {
        if !tokio::fs::try_exists(&path).await.unwrap_or(true) {
            // A session without messages has no transcript.
            return Ok(());
        }
        let sources = match agent.storage() {
            StorageForm::Database => TranscriptSource::changed_in(agent, path, since).await?,
            _ => vec![TranscriptSource::file(agent, path)],
        };
        for source in sources {
            let mut ready = self.reading.lock().await;
            let tail = ready.take(&source);
            if let Some((tail, ..)) = self.read_tail(&source, tail, true).await? {
                ready.put(tail);
            }
        }
        Ok(())
    }

    /// Like [`Self::follow`], but for a transcript that is read only once. Returns the session and the number of new messages.
    /// The caller holds the lock `reading`.
    pub(crate) async fn read_once(
        &self,
        source: &TranscriptSource,
    ) -> Result<Option<(SessionId, u64)>> {
        let tail = ReadyTails::default().take(source);
        let read = self.read_tail(source, tail, false).await?;
        Ok(read.map(|(_, session, added)| (session, added)))
    }

    /// Returns `None` if the transcript is excluded from recording. With `is_followed`, which a person did not ask for, also
    /// returns `None` if the transcript has no session, and it has no answer yet or recording is paused. Otherwise, the file
    /// is complete, so its last line counts even if it has no line end.
    async fn read_tail(
        &self,
        source: &TranscriptSource,
        tail: AgentTail,
        is_followed: bool,
    ) -> Result<Option<(AgentTail, SessionId, u64)>> {
        let most = self.cx.settings().daemon.max_import_bytes;
        let (mut tail, mut stretch) = read_on(tail, most).await?;
        if !is_followed {
            tail.end(&mut stretch);
        }
        let path = source.path.to_string_lossy().into_owned();
        if self.is_excluded(&tail, &path) {
            return Ok(None);
        }
        self.leave_out_paused(&tail, &mut stretch.messages);
        let may_begin = !is_followed
            || self.cx.recording_pause().is_none() && (stretch.more || stretch.has_answer());
        let Some(session) = self.session_for(source, &tail, may_begin).await? else {
            return Ok(None);
        };
        let stored = self.cx.store().transcript_position(session, path.clone()).await?;
        let record = self.cx.store().session(session).await?;
        if stored.is_none() && record.last_seq > Seq::ZERO {
            // The gateway records it.
            return Ok(Some((tail, session, 0)));
        }
        let mut position = match stored {
            Some(position) => position,
            None => {
                // Stored before the first message: after a crash between the two, the session would count as the gateway's.
                let position = TranscriptPosition::default();
                self.put_position(session, &path, &position).await?;
                position
            }
        };
        if position.elsewhere {
            return Ok(Some((tail, session, 0)));
        }
        let mut added = 0;
        loop {
            if self.cx.stopping().is_cancelled() {
                return Err(ServiceError::new(ErrorKind::ShuttingDown, "the daemon is stopping"));
            }
            let more = stretch.more;
            let (new, through) = self.append_read(session, stretch.messages).await?;
            added += new;
            position.through = position.through.max(through);
            self.put_position(session, &path, &position).await?;
            if !more {
                break;
            }
            (tail, stretch) = read_on(tail, most).await?;
            if !is_followed {
                tail.end(&mut stretch);
            }
            self.leave_out_paused(&tail, &mut stretch.messages);
        }
        if added > 0 {
            self.add_compactions(session, &tail).await?;
            self.update_facts(session, &tail).await?;
        }
        Ok(Some((tail, session, added)))
    }

    fn is_excluded(&self, tail: &AgentTail, path: &str) -> bool {
        let dir = tail.header().cwd.or_else(|| tail.facts().cwd.clone());
        let mut places = dir.as_deref().into_iter().chain([path]);
        places.any(|place| self.cx.recording().excluded(place).is_some())
    }

    fn leave_out_paused(&self, tail: &AgentTail, messages: &mut Vec<Message>) {
        let paused = PausedParts::new(self.cx.recording(), tail.facts());
        messages.retain(|message| !paused.has_message(message));
    }

    async fn put_position(
        &self,
        session: SessionId,
        path: &str,
        position: &TranscriptPosition,
    ) -> Result<()> {
        let (path, position) = (path.to_owned(), position.clone());
        Ok(self.cx.store().put_transcript_position(session, path, position).await?)
    }

    /// Finds the session of a transcript, or creates it if `may_begin` is set.
    async fn session_for(
        &self,
        source: &TranscriptSource,
        tail: &AgentTail,
        may_begin: bool,
    ) -> Result<Option<SessionId>> {
        let header = tail.header();
        let Some(id) = header.id.as_deref() else { return Ok(None) };
        if let Some(known) = self.session_of_agent(source.agent, id).await? {
            return Ok(Some(known));
        }
        if !may_begin {
            return Ok(None);
        }
        if let Some(fork) = self.fork_of(source, id, &header).await? {
            return Ok(Some(fork));
        }
        let parent = self.parent_of(source.agent, id, &header).await?;
        let session = session_id(source.agent, id);
        self.remove_leftovers(session).await?;
        let dir = header.cwd.unwrap_or_else(|| "/".to_owned());
        let new = self.sessions.new_session(session, dir).await?;
        let created_at = tail.facts().first_at.unwrap_or(new.created_at);
        self.cx.store().create_session(NewSession { parent, created_at, ..new }, None).await?;
        self.know(source.agent, id.to_owned(), session).await?;
        Ok(Some(session))
    }

    /// Stores messages, and returns the number of new ones and the position of the newest.
    async fn append_read(&self, session: SessionId, messages: Vec<Message>) -> Result<(u64, Seq)> {
        let (mut new, mut through) = (0, Seq::ZERO);
        let mut messages = messages.into_iter().peekable();
        while messages.peek().is_some() {
            let some: Vec<Message> = messages.by_ref().take(BATCH).collect();
            let (appended, places) = self.sessions.record(session, some, true).await?;
            new += appended.appended;
            through = places.iter().map(|(seq, _)| *seq).max().unwrap_or(through).max(through);
        }
        Ok((new, through))
    }

    /// Stores the compactions that the agent made itself.
    async fn add_compactions(&self, session: SessionId, tail: &AgentTail) -> Result<()> {
        let compactions = &tail.facts().compactions;
        if compactions.is_empty() {
            return Ok(());
        }
        let known = self.cx.store().compactions(session).await?;
        let paused = PausedParts::new(self.cx.recording(), tail.facts());
        let is_new = |compaction: &&RecordedCompaction| {
            let is_known = known.iter().any(|known| {
                known.created_at == compaction.created_at && known.summary == compaction.summary
            });
            !is_known && !paused.has_compaction(compaction)
        };
        let new: Vec<&RecordedCompaction> = compactions.iter().filter(is_new).collect();
        let ids = new.iter().flat_map(|compaction| match &compaction.kept {
            Some((head, last)) => vec![head.as_str(), last.as_str()],
            None => vec![compaction.summary_id.as_str()],
        });
        let places = self.seqs_of(session, ids.collect()).await?;
        for compaction in &new {
            let place = match &compaction.kept {
                Some((head, last)) => places.get(head).zip(places.get(last)).map(|(a, b)| (*a, *b)),
                None => places.get(compaction.summary_id.as_str()).map(|at| (at.next(), *at)),
            };
            if let Some((kept_from, made_after)) = place {
                let add = self
                    .sessions
                    .add_recorded_compaction(session, compaction, kept_from, made_after);
                add.await?;
            }
        }
        if !new.is_empty()
            && let Some(handle) = self.sessions.open_handle(session)
        {
            handle.unload().await;
        }
        Ok(())
    }

    /// Returns the positions of messages by their ids.
    async fn seqs_of(
        &self,
        session: SessionId,
        ids: HashSet<&str>,
    ) -> Result<BTreeMap<String, Seq>> {
        let (mut found, mut after) = (BTreeMap::new(), Seq::ZERO);
        while found.len() < ids.len() {
            let batch = self.cx.store().messages(session, next_batch(after)).await?;
            let Some(last) = batch.last() else { break };
            after = last.seq;
            let wanted = batch.iter().filter(|message| ids.contains(message.id.as_str()));
            found.extend(wanted.map(|message| (message.id.to_string(), message.seq)));
        }
        Ok(found)
    }

    /// Stores the title and the model.
    async fn update_facts(&self, session: SessionId, tail: &AgentTail) -> Result<()> {
        let record = self.cx.store().session(session).await?;
        let mut model = model_of(&record);
        let other_model = tail.facts().model.clone().filter(|name| *name != model.name);
        let is_other_model = other_model.is_some();
        model.name = other_model.unwrap_or(model.name);
        let paused = PausedParts::new(self.cx.recording(), tail.facts());
        let may_title = !record.titled && !paused.may_repeat(self.cx.now());
        let change = SessionChange {
            title: tail.title().filter(|_| may_title),
            model: Some(serde_json::to_string(&model).map_err(ServiceError::internal)?),
            updated_at: tail.facts().last_at.unwrap_or(self.cx.now()),
            ..SessionChange::default()
        };
        self.sessions.update(session, change).await?;
        if is_other_model && let Some(handle) = self.sessions.open_handle(session) {
            handle.unload().await;
        }
        Ok(())
    }
}
