//! New lines of a client's transcripts become messages of its session.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use bethink_hooks::{Delivery, Event};
use bethink_store::{Append, Kept, NewMessage, SeqRange, Session, SessionChange};
use bethink_transcript::{Message, Seq, SessionId};

use super::transcript::{FoundMessage, Mark, Stretch, Tail, Unreadable};
use super::{TRANSCRIPT, Who};
use crate::sessions::model_of;
use crate::{Daemon, Kind, Refusal, Result};

/// Messages stored at a time.
const MOST: usize = 500;

/// The transcripts of a client's session as they were left.
#[derive(Debug, Default)]
pub(super) struct Followed {
    tails: HashMap<PathBuf, Tail>,
}

impl Followed {
    /// The session is over, for now: what its files said need not be at hand.
    pub(super) fn rest(&mut self) {
        self.tails.clear();
    }
}

impl Daemon {
    pub(super) async fn follow_transcripts(
        &self,
        who: &Who,
        followed: &mut Followed,
        delivery: &Delivery,
    ) -> Result<()> {
        let input = &delivery.input;
        let cwd = input.cwd.as_deref();
        if let Some(path) = input.transcript_path.as_deref().map(Path::new)
            && self.follow(who, followed, path, None, cwd).await?
        {
            // Who feeds the session feeds its sub-agents, too.
            return Ok(());
        }
        if let Some(path) = input.agent_transcript_path.as_deref().map(Path::new)
            && delivery.event == Event::SubagentStop
        {
            self.follow(who, followed, path, Some(agent_of(path)), cwd).await?;
        }
        Ok(())
    }

    /// Reads one file on, to its end. Answers whether its messages come from elsewhere.
    async fn follow(
        &self,
        who: &Who,
        followed: &mut Followed,
        path: &Path,
        agent: Option<String>,
        cwd: Option<&str>,
    ) -> Result<bool> {
        let mut mark = match self.session_of_client(who).await? {
            Some(session) => self.mark_of(session, path).await?,
            None => Mark::default(),
        };
        if mark.elsewhere {
            return Ok(true);
        }
        let mut tail =
            followed.tails.remove(path).unwrap_or_else(|| Tail::new(path, agent.clone()));
        loop {
            if self.stopping().is_cancelled() {
                return Err(Refusal::new(Kind::ShuttingDown, "the daemon is stopping"));
            }
            let stretch;
            (tail, stretch) = self.read_on(tail, mark.clone()).await?;
            let more = stretch.more;
            self.take_in_stretch(who, &mut mark, &tail, stretch, path, cwd).await?;
            if !more || mark.elsewhere {
                break;
            }
        }
        followed.tails.insert(path.to_owned(), tail);
        Ok(mark.elsewhere)
    }

    async fn read_on(&self, mut tail: Tail, mark: Mark) -> Result<(Tail, Stretch)> {
        let most = self.settings().daemon.max_import_bytes;
        let reading = tokio::task::spawn_blocking(move || {
            let read = tail.read_on(&mark, most);
            (tail, read)
        });
        match reading.await.map_err(Refusal::internal)? {
            (tail, Ok(stretch)) => Ok((tail, stretch)),
            // A session that nobody has spoken in has no transcript yet, or none any more.
            (tail, Err(Unreadable::Gone(_))) => Ok((tail, Stretch::default())),
            (_, Err(unreadable)) => {
                Err(Refusal::invalid("transcript_path", unreadable.to_string()))
            }
        }
    }

    async fn take_in_stretch(
        &self,
        who: &Who,
        mark: &mut Mark,
        tail: &Tail,
        stretch: Stretch,
        path: &Path,
        cwd: Option<&str>,
    ) -> Result<()> {
        if stretch.found.is_empty() {
            return Ok(());
        }
        let facts = tail.reader().facts();
        let dir = facts.cwd.as_deref().filter(|dir| dir.starts_with('/')).or(cwd).unwrap_or("/");
        let id = self.session_for(who, dir).await?;
        let session = self.store().session(id).await?;
        mark.elsewhere = self.is_fed_elsewhere(&session, mark, tail).await?;
        if !mark.elsewhere {
            let (own, agents) = parted(stretch.found);
            let places = self.store_messages(id, own).await?;
            for (agent, messages) in agents {
                let child = self.child_for(id, &agent, dir).await?;
                self.store_messages(child, messages).await?;
            }
            self.keep_recorded_compactions(id, tail, &places).await?;
            self.settle_session(&session, tail).await?;
            mark.through = mark.through.max(places.values().map(|seq| seq.0).max().unwrap_or(0));
        }
        (mark.bytes, mark.hash) = tail.settled();
        self.keep_mark(id, path, mark).await
    }

    /// Whether the session has messages that did not come from this file: then the gateway, or somebody who
    /// appends, tells them already, and the transcript would tell them again in other words.
    async fn is_fed_elsewhere(&self, session: &Session, mark: &Mark, tail: &Tail) -> Result<bool> {
        if tail.is_agents() || session.last_seq.0 <= mark.through {
            return Ok(false);
        }
        // Ours, whose mark a crash prevented, stand in the file.
        let range = SeqRange { after: Some(Seq(mark.through)), limit: MOST, ..SeqRange::all() };
        let messages = self.store().messages(session.id, range).await?;
        Ok(messages.iter().any(|message| !tail.reader().knows(message.id.as_str())))
    }

    /// Places of those that are new here, by id.
    async fn store_messages(
        &self,
        session: SessionId,
        messages: Vec<Message>,
    ) -> Result<BTreeMap<String, Seq>> {
        let mut places = BTreeMap::new();
        let mut messages = messages.into_iter().peekable();
        while messages.peek().is_some() {
            let some: Vec<Message> = messages.by_ref().take(MOST).collect();
            let ids: Vec<String> = some.iter().map(|message| message.id.to_string()).collect();
            let new = some.iter().map(|message| NewMessage {
                id: message.id.clone(),
                role: message.role,
                raw: message.raw().clone(),
                // As its provider wrote it: several lines may be one answer.
                recorded: true,
                created_at: message.created_at,
            });
            let append = Append { session, messages: new.collect(), receipt: None, at: self.now() };
            let (_, stored) = self.store_and_tell(append, some).await?;
            let fresh = ids.into_iter().zip(stored).filter(|(_, (_, new))| *new);
            places.extend(fresh.map(|(id, (seq, _))| (id, seq)));
        }
        Ok(places)
    }

    /// Compactions that the client made itself: its summary stands for what came before it.
    async fn keep_recorded_compactions(
        &self,
        session: SessionId,
        tail: &Tail,
        places: &BTreeMap<String, Seq>,
    ) -> Result<()> {
        let recorded = tail.reader().facts().compactions.iter().filter_map(|compaction| {
            let seq = *places.get(compaction.summary_id.as_str())?;
            Some(crate::import::recorded(session, compaction, seq))
        });
        let recorded: Vec<_> = recorded.collect();
        if recorded.is_empty() {
            return Ok(());
        }
        for compaction in recorded {
            self.store().add_compaction(compaction, Vec::new()).await?;
        }
        if let Some(slot) = self.registry().get(session) {
            slot.cool().await;
        }
        Ok(())
    }

    /// Title and model, as far as the file knows them by now.
    async fn settle_session(&self, session: &Session, tail: &Tail) -> Result<()> {
        let mut model = model_of(session);
        let named = tail.reader().facts().model.clone().filter(|name| *name != model.name);
        let title = tail.reader().title().filter(|title| session.title.as_ref() != Some(title));
        let title = title.filter(|_| !session.titled);
        if named.is_none() && title.is_none() {
            return Ok(());
        }
        let is_other_model = named.is_some();
        model.name = named.unwrap_or(model.name);
        let change = SessionChange {
            title,
            model: Some(serde_json::to_string(&model).map_err(Refusal::internal)?),
            updated_at: self.now(),
            ..SessionChange::default()
        };
        self.store().update_session(session.id, change).await?;
        if is_other_model && let Some(slot) = self.registry().get(session.id) {
            slot.cool().await;
        }
        Ok(())
    }

    /// Whether messages of a session come from a transcript as it grows, rather than from a file of the past.
    pub(crate) async fn is_followed(&self, session: SessionId) -> Result<bool> {
        Ok(!self.store().kept(TRANSCRIPT.to_owned(), session.to_string()).await?.is_empty())
    }

    async fn mark_of(&self, session: SessionId, path: &Path) -> Result<Mark> {
        let kept = self.store().kept(TRANSCRIPT.to_owned(), session.to_string()).await?;
        let path = path.to_string_lossy();
        let mark = kept.into_iter().find(|kept| kept.key == path);
        Ok(mark.and_then(|kept| serde_json::from_str(&kept.value).ok()).unwrap_or_default())
    }

    async fn keep_mark(&self, session: SessionId, path: &Path, mark: &Mark) -> Result<()> {
        let kept = Kept {
            space: TRANSCRIPT.to_owned(),
            owner: session.to_string(),
            key: path.to_string_lossy().into_owned(),
            value: serde_json::to_string(mark).map_err(Refusal::internal)?,
            at: self.now(),
        };
        Ok(self.store().keep(kept).await?)
    }
}

/// Those of the main thread, and those of each sub-agent.
fn parted(found: Vec<FoundMessage>) -> (Vec<Message>, BTreeMap<String, Vec<Message>>) {
    let (mut own, mut agents) = (Vec::new(), BTreeMap::<String, Vec<Message>>::new());
    for FoundMessage { agent, message } in found {
        match agent {
            None => own.push(message),
            Some(agent) => agents.entry(agent).or_default().push(message),
        }
    }
    (own, agents)
}

/// A sub-agent's file is named after it.
fn agent_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.strip_prefix("agent-").unwrap_or(&stem).to_owned()
}
