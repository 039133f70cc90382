//! What of a conversation is still to be stored, in order, behind the requests' backs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bethink_api::ModelSpec;
use bethink_context::Decision;
use bethink_lineage::Scope;
use bethink_store::{Append, ClientSession, Lineage, NewMessage, NewSession, SessionChange};
use bethink_transcript::{Message, Seq, SessionId};
use tokio::sync::Mutex as AsyncMutex;

use super::asked::{Asked, fresh_id};
use crate::hot::tokens;
use crate::memory::Inject;
use crate::{Daemon, Kind, Refusal, Result};

#[derive(Debug)]
pub(super) enum Work {
    Begin(Box<NewSession>, Lineage, Option<ClientSession>),
    Model(ModelSpec),
    /// What stands around the messages.
    Frame(Arc<Asked>),
    Append {
        /// The messages that are there before.
        after: Seq,
        messages: Vec<Message>,
        marks: Vec<u128>,
        scope: Scope,
        /// They went up as they are, so no later prompt shows their results otherwise.
        is_shown: bool,
    },
}

impl Work {
    fn bytes(&self) -> usize {
        match self {
            Work::Append { messages, .. } => messages.iter().map(Message::weight).sum(),
            _ => 0,
        }
    }
}

/// One conversation's.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: Mutex<Waiting>,
    bytes: AtomicUsize,
    /// Held by who stores.
    turn: AsyncMutex<()>,
}

#[derive(Debug, Default)]
struct Waiting {
    work: VecDeque<Work>,
    /// Why nothing more is stored under this line.
    failed: Option<Refusal>,
}

impl Line {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, work: Work) {
        self.bytes.fetch_add(work.bytes(), Ordering::Relaxed);
        self.waiting().work.push_back(work);
    }

    fn next(&self) -> Option<Work> {
        let work = self.waiting().work.pop_front()?;
        self.bytes.fetch_sub(work.bytes(), Ordering::Relaxed);
        Some(work)
    }

    fn fail(&self, refusal: &Refusal) {
        let mut waiting = self.waiting();
        waiting.work.clear();
        waiting.failed = Some(refusal.clone());
        self.bytes.store(0, Ordering::Relaxed);
    }

    fn failed(&self) -> Option<Refusal> {
        self.waiting().failed.clone()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting().work.is_empty() && self.turn.try_lock().is_ok()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Daemon {
    /// Stores what waits, behind the caller's back.
    pub(super) fn go_on(&self, session: SessionId) {
        let Some(line) = self.gateway().line(session) else { return };
        let daemon = self.clone();
        self.spawn(async move { daemon.drain(session, &line).await });
    }

    /// Everything of the conversation is stored when this is answered. A client that hangs up stops nothing.
    pub(super) async fn stored_all(&self, session: SessionId) -> Result<()> {
        let Some(line) = self.gateway().line(session) else { return Ok(()) };
        let (daemon, own) = (self.clone(), Arc::clone(&line));
        let work = async move { daemon.drain(session, &own).await };
        self.inner.tracker.spawn(work).await.map_err(Refusal::internal)?;
        line.failed().map_or(Ok(()), Err)
    }

    async fn drain(&self, session: SessionId, line: &Line) {
        let _turn = line.turn.lock().await;
        while let Some(work) = line.next() {
            if line.failed().is_some() {
                continue;
            }
            if let Err(refusal) = self.carry_out_work(session, work).await {
                tracing::warn!(%session, reason = %refusal, "a conversation was not stored; its next request brings it again");
                line.fail(&refusal);
                self.gateway().deleted(session);
            }
        }
    }

    async fn carry_out_work(&self, session: SessionId, work: Work) -> Result<()> {
        match work {
            Work::Begin(new, lineage, claim) => {
                // An agent that came meanwhile stands for the key.
                let claim = claim.filter(|claim| self.gateway().stands_for(claim));
                self.store().begin_session(*new, lineage, claim).await?;
                self.tell_session(session, "created");
            }
            Work::Model(model) => self.change_model(session, &model).await?,
            Work::Frame(asked) => self.note_frame(session, &asked).await?,
            Work::Append { after, messages, marks, scope, is_shown } => {
                let has_results = messages.iter().any(|m| m.tool_results().next().is_some());
                let lineage = Lineage { session, scope: scope.0, marks };
                self.append_behind(after, messages, lineage).await?;
                if is_shown && has_results {
                    self.freeze(session).await?;
                }
            }
        }
        Ok(())
    }

    async fn change_model(&self, session: SessionId, model: &ModelSpec) -> Result<()> {
        let model = serde_json::to_string(model).map_err(Refusal::internal)?;
        let change =
            SessionChange { model: Some(model), updated_at: self.now(), ..Default::default() };
        self.store().update_session(session, change).await?;
        if let Some(slot) = self.registry().get(session) {
            slot.cool().await;
        }
        Ok(())
    }

    /// Marks first, in the same commit where it goes well: a daemon that is killed in between finds the session by them, and knows by its messages how
    /// far it came.
    async fn append_behind(
        &self,
        after: Seq,
        messages: Vec<Message>,
        lineage: Lineage,
    ) -> Result<()> {
        let session = lineage.session;
        let last = self.store().session(session).await?.last_seq;
        if last != after {
            return Err(Refusal::new(
                Kind::Conflict,
                format!("the session has {last} messages, and {after} were expected"),
            ));
        }
        let marked = self.store().put_lineage(lineage, after);
        let (marked, stored) = tokio::join!(marked, self.append_all(session, messages.clone()));
        marked?;
        let stored = stored?;
        if stored < messages.len() as u64 {
            // A provider that numbers its answers anew: the id is taken in this session.
            let fresh = messages.into_iter().skip(usize::try_from(stored).unwrap_or(usize::MAX));
            let fresh = fresh.map(|mut message| {
                message.id = fresh_id()?;
                Ok(message)
            });
            self.append_all(session, fresh.collect::<Result<_>>()?).await?;
        }
        Ok(())
    }

    async fn append_all(&self, session: SessionId, messages: Vec<Message>) -> Result<u64> {
        let new = messages.iter().map(|message| NewMessage {
            id: message.id.clone(),
            role: message.role,
            raw: message.raw().clone(),
            recorded: false,
            created_at: message.created_at,
        });
        let append = Append { session, messages: new.collect(), receipt: None, at: self.now() };
        let (appended, _) = self.store_and_tell(append, messages).await?;
        Ok(appended.appended)
    }

    /// What a request held beside its messages counts, and is what a fork of the session asks with.
    async fn note_frame(&self, session: SessionId, asked: &Asked) -> Result<()> {
        let slot = self.hot(session).await?;
        let mut hot = slot.lock(self).await?;
        let frame = self.frame(&hot, &slot, None, &asked.given, Inject::Off).await?;
        hot.fixed_tokens = frame.tokens();
        hot.fixed = frame.fixed();
        hot.sent = Some(frame.sent());
        Ok(())
    }

    /// Results that a prompt has shown as they are stay so.
    async fn freeze(&self, session: SessionId) -> Result<()> {
        let slot = self.hot(session).await?;
        let mut hot = slot.lock(self).await?;
        let through = hot.session.last_seq;
        let record = Decision::Shown { through };
        let mut decisions = hot.decisions.clone();
        decisions.apply(&record, &hot.history, &tokens);
        self.keep(&mut hot, decisions, vec![record], self.now()).await
    }
}
