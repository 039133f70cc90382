//! Loads a session: history from the newest boundary on, in batches, and the decisions that its prompts need.

use std::collections::BTreeMap;
use std::sync::Arc;

use bethink_compactor::Breakers;
use bethink_context::decision::{in_force, newest_is_undone};
use bethink_context::{Decision, Decisions, FixedTokens, History, Learner, SessionState, TodoList};
use bethink_service::{Event, Result, ServiceError, locked, next_batch, parse_stored};
use bethink_store::SeqRange;
use bethink_transcript::{Message, Seq, SessionId};
use tokio::sync::OwnedMutexGuard;

use crate::cache::cache_fall_out;
use crate::catalog::model_of;
use crate::decisions::read_decision;
use crate::handle::{SessionGuard, SessionHandle};
use crate::kept_state::KeptState;
use crate::loaded::{LoadedSession, Recovering};
use crate::record::last_compaction;
use crate::remembered::RememberedState;
use crate::service::{SessionEvent, SessionService};

const MINUTE_MICROS: i64 = 60_000_000;

impl SessionService {
    /// Returns the handle of a session, or an error if the session does not exist.
    pub async fn handle(&self, id: SessionId) -> Result<Arc<SessionHandle>> {
        match self.inner.registry.get(id) {
            Some(handle) => Ok(handle),
            None => {
                self.cx.store().session(id).await?;
                self.trim();
                let handle = self.inner.registry.enter(id).await?;
                self.take(id).await?;
                Ok(handle)
            }
        }
    }

    /// Returns the handle of a session if it is in memory.
    pub fn open_handle(&self, id: SessionId) -> Option<Arc<SessionHandle>> {
        self.inner.registry.get(id)
    }

    /// Locks the state, and brings it up to date. Loads it if it is not in memory.
    pub async fn lock(&self, handle: &Arc<SessionHandle>) -> Result<SessionGuard> {
        let state = Arc::clone(&handle.state).lock_owned().await;
        self.up_to_date(handle, state).await
    }

    pub(crate) async fn up_to_date(
        &self,
        handle: &Arc<SessionHandle>,
        mut state: OwnedMutexGuard<Option<LoadedSession>>,
    ) -> Result<SessionGuard> {
        let is_new = state.is_none();
        if is_new {
            let (loaded, _) = self.load(handle, usize::MAX).await?;
            *state = Some(loaded);
            handle.forget_evicted();
        }
        let mut loaded = OwnedMutexGuard::try_map(state, Option::as_mut)
            .map_err(|_| ServiceError::internal("could not load the session"))?;
        let new = std::mem::take(&mut *locked(&handle.inbox));
        if let Some(first) = new.iter().map(|message| message.seq).min() {
            handle.cache.begin(&loaded.state.history, first, &loaded.state.model.name);
            self.watch_cache(handle, &loaded.state.model.name, &new);
        }
        for message in new {
            loaded.take_in(message);
        }
        if !loaded.ahead.is_empty() {
            // A concurrent append may be committed but not delivered yet.
            let range = SeqRange { after: Some(loaded.session.last_seq), ..SeqRange::all() };
            for stored in self.cx.store().messages(handle.id, range).await? {
                loaded.take_in(Arc::new(parse_stored(stored)?));
            }
        }
        handle.weigh(loaded.weight());
        self.inner.registry.count(handle);
        // The memory budget also applies to sessions that are only read.
        if is_new {
            self.trim();
        }
        self.tell(&SessionEvent::TakenIn { handle, loaded: &loaded });
        Ok(loaded)
    }

    /// Passes new messages to the cache watch, in order.
    pub(crate) fn watch_cache(&self, handle: &SessionHandle, model: &str, new: &[Arc<Message>]) {
        let minutes = self.cx.settings().context.cache_ttl_minutes;
        let ttl = i64::try_from(minutes).unwrap_or(i64::MAX).saturating_mul(MINUTE_MICROS);
        for message in new {
            let fall = handle.cache.watch().observe(message, model, ttl);
            let Some(fall) = fall.as_ref().map(cache_fall_out) else { continue };
            if !fall.expected {
                metrics::counter!("bethink_cache_breaks_total", "cause" => fall.cause.to_string())
                    .increment(1);
            }
            self.cx.hub().publish(handle.id, message.seq, &Event::Cache(fall));
        }
    }

    /// Loads a session, and returns the size of its history. If the history has more than `most` bytes, only its tokens
    /// are counted, and the session must not be used for prompts.
    pub(crate) async fn load(
        &self,
        handle: &SessionHandle,
        most: usize,
    ) -> Result<(LoadedSession, usize)> {
        let (id, store) = (handle.id, self.cx.store());
        handle.check()?;
        self.take(id).await?;
        let session = store.session(id).await?;
        let log = self.decision_log(id).await?;
        let current = in_force(&log).cloned();
        let made_after = current.as_ref().map_or(Seq::ZERO, |c| c.boundary.made_after);
        let kept_from = current.as_ref().map_or(Seq::ZERO, |c| c.boundary.kept_from);
        let undone = newest_is_undone(&log);
        let rows = store.compactions(id).await?;
        let row = current.as_ref().and_then(|current| {
            rows.into_iter().rev().find(|row| row.id.to_string() == current.boundary.id)
        });
        let spans = match self.cx.settings().context.collapse {
            true => store.collapses(id).await?,
            false => Vec::new(),
        };
        let (todos, unseen) = current.map(|c| (c.todos, c.unseen)).unwrap_or_default();
        // A compaction records the todo list of its time. A list that a client set afterwards is newer.
        let mut kept = KeptState::parse(&session.state);
        let set = kept.todos.take().filter(|set| set.after >= made_after);
        let (todos_after, todos) = set.map_or((Seq::ZERO, todos), |set| (set.after, set.items));
        let model = model_of(&session);
        let state = SessionState {
            id,
            thresholds: self.thresholds(&model)?,
            model,
            history: History::default(),
            decisions: Decisions::default(),
            last_seq: Seq::ZERO,
            last_compaction: row.as_ref().map(last_compaction).transpose()?,
            todos: TodoList { items: todos, ..TodoList::default() },
            shape: None,
            last_prompt: None,
            fixed: FixedTokens::default(),
            learner: Learner::default(),
        };
        self.load_sent(handle).await;
        let mut loaded = LoadedSession {
            state,
            session,
            undone,
            last_compaction: row,
            spans,
            breakers: Breakers::default(),
            window: None,
            last_prompt: None,
            reduce_only_when_full: false,
            view_tokens: 0,
            grown: 0,
            last_request: handle.last_request.clone(),
            recovering: Recovering::default(),
            cache: handle.cache.clone(),
            todos_after,
            ahead: BTreeMap::new(),
            users: Arc::clone(&handle.users),
        };
        let before = Seq(kept_from.0.saturating_sub(1));
        let bytes = self.take_history(&mut loaded, before, most).await?;
        if bytes > most {
            return Ok((loaded, bytes));
        }
        let history = &loaded.state.history;
        loaded.state.decisions = Decisions::replay(&log, history);
        let state = &mut loaded.state;
        state.learner =
            Learner::replay(&state.model.name, &state.history, &state.decisions, unseen);
        state.todos.changed = !state.todos.items.is_empty();
        let remembered = handle.remembered();
        let remembered = remembered.unwrap_or_else(|| {
            RememberedState::after_restart(&kept.breakers, kept.window, &loaded)
        });
        remembered.restore(&mut loaded);
        for contributor in self.contributors() {
            contributor.loaded(handle, &loaded).await?;
        }
        Ok((loaded, bytes))
    }

    /// Reads history after `after`, in batches, because a long session should not be in memory twice. Returns its size.
    /// If the history has more than `most` bytes, only its number of tokens is kept.
    async fn take_history(
        &self,
        loaded: &mut LoadedSession,
        mut after: Seq,
        most: usize,
    ) -> Result<usize> {
        (loaded.session.last_seq, loaded.state.last_seq) = (after, after);
        let mut bytes = 0;
        loop {
            let batch = self.cx.store().messages(loaded.session.id, next_batch(after)).await?;
            let Some(last) = batch.last() else { return Ok(bytes) };
            after = last.seq;
            for stored in batch {
                bytes += stored.raw.len();
                if bytes > most {
                    loaded.forget_history();
                }
                // A damaged message leaves a gap that recovery reported; the messages after it are complete.
                loaded.session.last_seq = Seq(stored.seq.0.saturating_sub(1));
                loaded.take_in(Arc::new(parse_stored(stored)?));
            }
        }
    }

    /// Returns all decisions of a session, oldest first.
    pub(crate) async fn decision_log(&self, id: SessionId) -> Result<Vec<Decision>> {
        let records = self.cx.store().decisions(id).await?;
        records.iter().map(read_decision).collect()
    }
}
