//! Hot sessions: what a prompt needs, kept ready in memory, within a budget of bytes.
//!
//! A slot has an inbox beside its state: an append puts what was committed there and never waits for
//! a prompt or a compaction that is being made; whoever locks the state takes the inbox in first.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bethink_compactor::Breakers;
use bethink_context::todos::{self, Todo};
use bethink_context::{Boundary, Decision, Decisions, Entry, History, Learner, Shape, Thresholds};
use bethink_store::{Collapse, Compaction, SeqRange, Session, StoredMessage};
use bethink_tokens::{ByteEstimator, Estimator};
use bethink_transcript::message::Source;
use bethink_transcript::{Message, MessageMeta, Seq, SessionId, UnixMicros};
use tokio::sync::{Mutex as AsyncMutex, OwnedMappedMutexGuard, OwnedMutexGuard};

use crate::cache::Cache;
use crate::collapse::Staging;
use crate::compactions::boundary_of;
use crate::extract::Extracting;
use crate::facts::KeptFacts;
use crate::frame::Fixed;
use crate::instructions::InstructionsShown;
use crate::memory::IndexShown;
use crate::models::Sent;
use crate::notes::Meter;
use crate::recall::Recalling;
use crate::recover::Recovering;
use crate::sessions::model_of;
use crate::{Daemon, Refusal, Result};

pub(crate) static ESTIMATOR: ByteEstimator = ByteEstimator;

pub(crate) fn tokens(text: &str) -> u32 {
    ESTIMATOR.text(text)
}

/// The todo list with what the prompt already shows of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TodoList {
    pub(crate) list: Vec<Todo>,
    /// Not shown yet as it stands.
    pub(crate) changed: bool,
    /// Reminders since the whole list was shown.
    pub(crate) short: u32,
}

impl TodoList {
    pub(crate) fn set(&mut self, list: Vec<Todo>) {
        self.changed |= list != self.list;
        self.list = list;
    }
}

/// A session as prompts are made from it.
#[derive(Debug)]
pub(crate) struct HotSession {
    pub(crate) session: Session,
    pub(crate) model: bethink_api::ModelSpec,
    pub(crate) thresholds: Thresholds,
    pub(crate) history: History,
    pub(crate) decisions: Decisions,
    /// The newest compaction was undone.
    pub(crate) undone: bool,
    pub(crate) last_compaction: Option<Compaction>,
    /// Spans of the session that have a text; none are looked up while collapse is off.
    pub(crate) spans: Vec<Collapse>,
    pub(crate) todos: TodoList,
    pub(crate) breakers: Breakers,
    pub(crate) shape: Option<Shape>,
    pub(crate) last_prompt: Option<UnixMicros>,
    /// Tokens of system and tools at the last prompt.
    pub(crate) fixed_tokens: u64,
    /// The same, by part.
    pub(crate) fixed: Fixed,
    /// Estimated tokens of the messages in view.
    pub(crate) view_tokens: u64,
    /// What the last request held beside the messages.
    pub(crate) sent: Option<Sent>,
    /// What was done about the provider's refusal of the last prompt.
    pub(crate) recovering: Recovering,
    /// What the provider's figures teach of this session.
    pub(crate) learner: Learner,
    pub(crate) cache: Cache,
    meter: Meter,
    ahead: BTreeMap<Seq, Arc<Message>>,
}

impl HotSession {
    fn take_in(&mut self, message: Arc<Message>) {
        let next = self.session.last_seq.next();
        if message.seq >= next {
            self.ahead.insert(message.seq, message);
        }
        while let Some(message) = self.ahead.remove(&self.session.last_seq.next()) {
            self.push(message);
        }
    }

    fn push(&mut self, message: Arc<Message>) {
        if let Some(list) = todos::set_by(&message) {
            // The agent's own call shows the list already.
            self.todos.set(list);
            self.todos.changed = false;
            self.todos.short = 0;
        }
        self.session.last_seq = message.seq;
        let entry = Entry::new(message, &ESTIMATOR);
        self.learner.observe(&self.model.name, &entry, &self.history, &self.decisions);
        let tokens = entry.tokens();
        self.view_tokens += tokens;
        self.meter.observe(&entry.message, tokens);
        self.history.push(entry);
    }

    fn weight(&self) -> usize {
        self.history.weight() + self.sent.as_ref().map_or(0, Sent::weight)
    }

    pub(crate) fn decided(&mut self, decisions: Decisions) {
        self.decisions = decisions;
    }
}

/// A session's place in the registry.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) id: SessionId,
    pub(crate) facts: KeptFacts,
    pub(crate) meter: Meter,
    pub(crate) cache: Cache,
    pub(crate) staging: Staging,
    /// The memory index as prompts show it.
    pub(crate) index: IndexShown,
    /// What was found for the user's newest words.
    pub(crate) recall: Recalling,
    pub(crate) instructions: InstructionsShown,
    /// Whether what was said is to be looked through.
    pub(crate) extracting: Extracting,
    /// Held while a compaction is made, a model's waiting included: one at a time. Taken before the
    /// session's own lock.
    pub(crate) compacting: AsyncMutex<()>,
    inbox: Mutex<Vec<Arc<Message>>>,
    state: Arc<AsyncMutex<Option<HotSession>>>,
    /// What the last answer said of the window, for answers that can't wait.
    level: Mutex<bethink_api::ContextLevel>,
    weight: AtomicUsize,
    touched: AtomicUsize,
}

impl Slot {
    fn new(id: SessionId) -> Self {
        Self {
            id,
            facts: KeptFacts::default(),
            meter: Meter::default(),
            cache: Cache::default(),
            staging: Staging::default(),
            index: IndexShown::default(),
            recall: Recalling::default(),
            instructions: InstructionsShown::default(),
            extracting: Extracting::default(),
            compacting: AsyncMutex::default(),
            inbox: Mutex::default(),
            state: Arc::default(),
            level: Mutex::default(),
            weight: AtomicUsize::new(0),
            touched: AtomicUsize::new(0),
        }
    }

    /// Bytes held, messages and facts.
    fn weight(&self) -> usize {
        self.weight.load(Ordering::Relaxed) + self.facts.weight()
    }

    fn inbox(&self) -> MutexGuard<'_, Vec<Arc<Message>>> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn deliver(&self, messages: Vec<Arc<Message>>) {
        self.inbox().extend(messages);
    }

    /// The state, up to date; loads it when it is cold.
    pub(crate) async fn lock(&self, daemon: &Daemon) -> Result<HotGuard> {
        let mut guard = Arc::clone(&self.state).lock_owned().await;
        if guard.is_none() {
            *guard = Some(load(daemon, self).await?);
        }
        self.catch_up(daemon, &mut guard).await?;
        HotGuard::new(guard)
    }

    pub(crate) fn note(&self, level: &bethink_api::ContextLevel) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = level.clone();
    }

    pub(crate) fn noted(&self) -> bethink_api::ContextLevel {
        self.level.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The state if nobody works with it; a cold one is loaded.
    pub(crate) async fn try_lock(&self, daemon: &Daemon) -> Option<HotGuard> {
        let mut guard = Arc::clone(&self.state).try_lock_owned().ok()?;
        if guard.is_none() {
            *guard = Some(load(daemon, self).await.ok()?);
        }
        self.catch_up(daemon, &mut guard).await.ok()?;
        HotGuard::new(guard).ok()
    }

    async fn catch_up(&self, daemon: &Daemon, state: &mut Option<HotSession>) -> Result<()> {
        let Some(hot) = state.as_mut() else { return Ok(()) };
        let new = std::mem::take(&mut *self.inbox());
        daemon.watch_cache(hot, &new);
        for message in new {
            hot.take_in(message);
        }
        if !hot.ahead.is_empty() {
            // A neighbour's append is committed and its task has not come round to deliver it.
            let range = SeqRange { after: Some(hot.session.last_seq), ..SeqRange::all() };
            for stored in daemon.store().messages(self.id, range).await? {
                hot.take_in(Arc::new(parsed(stored)?));
            }
        }
        self.weight.store(hot.weight(), Ordering::Relaxed);
        Ok(())
    }

    /// The newest message and the messages in memory, if nobody works with the state.
    pub(crate) fn glance(&self) -> Option<(Seq, Vec<Arc<Message>>)> {
        let guard = self.state.try_lock().ok()?;
        let hot = guard.as_ref()?;
        let messages = hot.history.entries().iter().map(|entry| Arc::clone(&entry.message));
        Some((hot.session.last_seq, messages.collect()))
    }

    /// Forgets the state; the next use loads it anew.
    pub(crate) async fn cool(&self) {
        *self.state.lock().await = None;
        self.weight.store(0, Ordering::Relaxed);
    }
}

/// Exclusive use of a loaded session.
#[derive(Debug)]
pub(crate) struct HotGuard(OwnedMappedMutexGuard<Option<HotSession>, HotSession>);

impl HotGuard {
    fn new(guard: OwnedMutexGuard<Option<HotSession>>) -> Result<Self> {
        OwnedMutexGuard::try_map(guard, Option::as_mut)
            .map(Self)
            .map_err(|_| Refusal::internal("the session was not loaded"))
    }
}

impl std::ops::Deref for HotGuard {
    type Target = HotSession;
    fn deref(&self) -> &HotSession {
        &self.0
    }
}

impl std::ops::DerefMut for HotGuard {
    fn deref_mut(&mut self) -> &mut HotSession {
        &mut self.0
    }
}

/// All slots, newest use last.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    slots: Mutex<HashMap<SessionId, Arc<Slot>>>,
    clock: AtomicUsize,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, id: SessionId) -> Option<Arc<Slot>> {
        let slot = self.lock().get(&id).cloned();
        if let Some(slot) = &slot {
            slot.touched.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        }
        slot
    }

    pub(crate) fn open(&self, id: SessionId) -> Arc<Slot> {
        let mut slots = self.lock();
        let slot = slots.entry(id).or_insert_with(|| Arc::new(Slot::new(id)));
        slot.touched.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Arc::clone(slot)
    }

    pub(crate) fn remove(&self, id: SessionId) {
        self.lock().remove(&id);
    }

    /// Lets the longest unused sessions go until the rest fits `budget` bytes.
    pub(crate) fn trim(&self, budget: usize) {
        let mut slots = self.lock();
        let mut all: usize = slots.values().map(|s| s.weight()).sum();
        // One that is in use is referred to from outside the table too.
        while all > budget {
            let idle = slots.values().filter(|s| Arc::strong_count(s) == 1);
            let Some(oldest) = idle.min_by_key(|s| s.touched.load(Ordering::Relaxed)).map(|s| s.id)
            else {
                return;
            };
            if let Some(slot) = slots.remove(&oldest) {
                all = all.saturating_sub(slot.weight());
            }
        }
    }
}

/// A stored message, read.
pub(crate) fn parsed(stored: StoredMessage) -> Result<Message> {
    let meta = MessageMeta { seq: stored.seq, id: stored.id, created_at: stored.created_at };
    let source = if stored.recorded { Source::Provider } else { Source::Client };
    Message::parse(meta, stored.raw, source)
        .map_err(|e| Refusal::internal(format!("message {} is not readable: {e}", stored.seq)))
}

async fn load(daemon: &Daemon, slot: &Slot) -> Result<HotSession> {
    let id = slot.id;
    let session = daemon.store().session(id).await?;
    let compactions = daemon.store().compactions(id).await?;
    let undone = compactions.last().is_some_and(|c| c.undone_at.is_some());
    let current = compactions.into_iter().rev().find(|c| c.undone_at.is_none());
    let boundary = current.as_ref().map(boundary_of);
    let kept_from = boundary.as_ref().map_or(Seq::ZERO, |b| b.kept_from);
    slot.meter.begin(daemon.store().notes(id).await?.as_ref(), current.as_ref());
    let spans = match daemon.settings().context.collapse {
        true => daemon.store().collapses(id).await?,
        false => Vec::new(),
    };
    let model = model_of(&session);
    let thresholds = daemon.thresholds(&model)?;
    let mut hot = HotSession {
        session: Session { last_seq: Seq(kept_from.0.saturating_sub(1)), ..session },
        model,
        thresholds,
        history: History::default(),
        decisions: Decisions::default(),
        undone,
        last_compaction: current,
        spans,
        todos: TodoList::default(),
        breakers: Breakers::default(),
        shape: None,
        last_prompt: None,
        fixed_tokens: 0,
        fixed: Fixed::default(),
        view_tokens: 0,
        sent: None,
        recovering: Recovering::default(),
        learner: Learner::default(),
        cache: slot.cache.clone(),
        meter: slot.meter.clone(),
        ahead: BTreeMap::new(),
    };
    if let Some(compaction) = &hot.last_compaction {
        hot.todos.list = crate::compactions::detail_of(compaction).todos;
    }
    let mut after = hot.session.last_seq;
    loop {
        // In stretches, so that a long session is not held twice.
        let range = SeqRange { after: Some(after), limit: STRETCH, ..SeqRange::all() };
        let stretch = daemon.store().messages(id, range).await?;
        let Some(last) = stretch.last() else { break };
        after = last.seq;
        for stored in stretch {
            // A damaged message leaves a gap that recovery reported; what follows it is whole.
            hot.session.last_seq = Seq(stored.seq.0.saturating_sub(1));
            hot.take_in(Arc::new(parsed(stored)?));
        }
    }
    hot.decisions = restore_decisions(daemon, id, boundary, &hot.history).await?;
    let unseen =
        hot.last_compaction.as_ref().map_or(0, |c| crate::compactions::detail_of(c).unseen);
    hot.learner = Learner::replay(&hot.model.name, &hot.history, &hot.decisions, unseen);
    hot.todos.changed = !hot.todos.list.is_empty();
    Ok(hot)
}

/// Messages read at a time.
pub(crate) const STRETCH: usize = 500;

async fn restore_decisions(
    daemon: &Daemon,
    id: SessionId,
    boundary: Option<Boundary>,
    history: &History,
) -> Result<Decisions> {
    let mut decisions = Decisions::new(boundary, history, &tokens);
    for record in daemon.store().decisions(id).await? {
        match serde_json::from_str::<Decision>(&record.data) {
            Ok(decision) => decisions.apply(&decision, history, &tokens),
            // Written by a newer bethink; the view works without it.
            Err(error) => {
                tracing::warn!(session = %id, record = record.id, %error, "unknown decision");
            }
        }
    }
    Ok(decisions)
}

impl Daemon {
    /// The slot of a session that exists.
    pub(crate) async fn hot(&self, id: SessionId) -> Result<Arc<Slot>> {
        match self.registry().get(id) {
            Some(slot) => Ok(slot),
            None => {
                self.store().session(id).await?;
                self.registry().trim(self.hot_budget());
                Ok(self.registry().open(id))
            }
        }
    }
}
