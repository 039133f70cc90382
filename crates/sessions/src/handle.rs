//! A session's place in memory, and exclusive use of its state.
//!
//! A handle has an inbox next to its state: an append puts committed messages there and never waits for a prompt or a
//! compaction. The next task that locks the state takes the messages from the inbox.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use bethink_api::ContextLevel;
use bethink_context::{HistoryEntry, Thresholds};
use bethink_facts::Facts;
use bethink_service::locked;
use bethink_store::{StoreError, StoreResult};
use bethink_transcript::{Message, Seq, SessionId};
use tokio::sync::{Mutex as AsyncMutex, OwnedMappedMutexGuard, OwnedMutexGuard};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::cache::Cache;
use crate::loaded::LoadedSession;
use crate::remembered::RememberedState;
use crate::sent::LastRequest;

/// Number of tokens by which an evicted session may grow before an append loads it again, so that notes, dreams and
/// spans are still triggered. The same growth triggers an update of the notes.
const UNSEEN_TOKENS: u64 = 5_000;
/// Maximum size of a session that an append loads, in bytes: a few times the largest window. Only sessions without
/// compactions become larger; they are loaded when a prompt or a compaction needs them.
pub(crate) const MAX_LOAD_BYTES: usize = 32 << 20;
/// Maximum number of handles. A handle of a session that is not in memory takes a few hundred bytes.
const MAX_HANDLES: usize = 4_096;
/// An eviction frees the exceeded limit divided by this.
const EVICTION_DIVISOR: usize = 16;

/// A service's state for one session while the session is in memory.
pub trait SessionFeature: Any + Send + Sync {
    /// Returns the approximate size in bytes, for the memory budget. Features that hold text override it.
    fn weight(&self) -> usize {
        size_of_val(self)
    }
}

impl<T: SessionFeature> SessionFeature for Mutex<T> {
    fn weight(&self) -> usize {
        locked(self).weight()
    }
}

/// The data of an evicted session that the response to an append needs.
#[derive(Clone, Debug)]
pub(crate) struct EvictedSession {
    pub(crate) model: String,
    pub(crate) thresholds: Thresholds,
    /// Estimated number of tokens in the whole prompt.
    pub(crate) tokens: u64,
    /// Size, in bytes, of the session's messages from the newest boundary on.
    bytes: usize,
    /// Number of tokens added since the session was evicted.
    grown: u64,
}

impl EvictedSession {
    /// Returns what an append needs to know about a session that does not stay in memory.
    pub(crate) fn of(loaded: &LoadedSession, bytes: usize) -> Self {
        Self {
            model: loaded.state.model.name.clone(),
            thresholds: loaded.state.thresholds,
            tokens: loaded.measured(),
            bytes,
            grown: 0,
        }
    }

    fn grow(&mut self, fresh: &[Arc<Message>]) {
        let tokens = tokens_of(fresh);
        self.tokens += tokens;
        self.grown += tokens;
        self.bytes += fresh.iter().map(|message| message.weight()).sum::<usize>();
    }
}

#[derive(Default)]
struct Features(HashMap<TypeId, Arc<dyn SessionFeature>>);

impl std::fmt::Debug for Features {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Features").field(&self.0.len()).finish()
    }
}

/// A session's place in the registry.
#[derive(Debug)]
pub struct SessionHandle {
    pub id: SessionId,
    pub(crate) facts: Arc<AsyncMutex<Facts>>,
    /// Size of the facts in bytes, which can be read without their lock.
    pub(crate) facts_weight: AtomicUsize,
    pub(crate) cache: Cache,
    pub(crate) last_request: LastRequest,
    /// Number of tokens in the history when the staging of spans was last requested.
    pub(crate) staging: AtomicU64,
    /// Held during a compaction, including the wait for a model: only one runs at a time. Taken before the session's
    /// own lock.
    pub(crate) compacting: AsyncMutex<()>,
    features: Mutex<Features>,
    pub(crate) inbox: Mutex<Vec<Arc<Message>>>,
    pub(crate) state: Arc<AsyncMutex<Option<LoadedSession>>>,
    /// The context level of the last response, for responses that cannot wait.
    level: Mutex<Option<ContextLevel>>,
    evicted: Mutex<Option<EvictedSession>>,
    remembered: Mutex<Option<RememberedState>>,
    weight: AtomicUsize,
    /// The size with which the registry counts this session.
    counted: AtomicUsize,
    pub(crate) touched: AtomicUsize,
    /// Held by everything that may still write because of this state. Dropping the last one ends the wait of
    /// [`LeavingSession::unused`].
    pub(crate) users: Arc<DropGuard>,
    /// Whether another daemon may have the session now: then nothing more is done with this state.
    released: AtomicBool,
}

impl SessionHandle {
    pub(crate) fn new(id: SessionId) -> Self {
        Self {
            id,
            facts: Arc::default(),
            facts_weight: AtomicUsize::new(0),
            cache: Cache::default(),
            last_request: LastRequest::default(),
            staging: AtomicU64::new(0),
            compacting: AsyncMutex::default(),
            features: Mutex::default(),
            inbox: Mutex::default(),
            state: Arc::default(),
            level: Mutex::default(),
            evicted: Mutex::default(),
            remembered: Mutex::default(),
            weight: AtomicUsize::new(0),
            counted: AtomicUsize::new(0),
            touched: AtomicUsize::new(0),
            users: Arc::new(CancellationToken::new().drop_guard()),
            released: AtomicBool::new(false),
        }
    }

    /// Returns `Moved` if the session was released since this handle was created.
    pub(crate) fn check(&self) -> StoreResult<()> {
        match self.released.load(Ordering::Relaxed) {
            true => Err(moved(self.id)),
            false => Ok(()),
        }
    }

    /// Keeps the session from moving to another daemon until the result is dropped.
    pub fn use_guard(&self) -> Arc<DropGuard> {
        Arc::clone(&self.users)
    }

    /// Returns a feature's state for this session. The state starts with the default and exists while the session is in
    /// memory. Its type is private to the feature, so no other service sees it.
    pub fn feature<T: SessionFeature + Default>(&self) -> Arc<T> {
        let mut features = locked(&self.features);
        let kept = features.0.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        let kept: Arc<dyn SessionFeature> = Arc::clone(kept);
        let kept: Arc<dyn Any + Send + Sync> = kept;
        // The key is the type's own id.
        kept.downcast().unwrap_or_default()
    }

    /// Returns the size in bytes: messages, messages in the inbox, facts, features, and the last request.
    pub(crate) fn weight(&self) -> usize {
        let features = locked(&self.features);
        let features: usize = features.0.values().map(|feature| feature.weight()).sum();
        let waiting: usize = locked(&self.inbox).iter().map(|message| message.raw().len()).sum();
        let facts = self.facts_weight.load(Ordering::Relaxed);
        let request = self.last_request.weight();
        self.weight.load(Ordering::Relaxed) + facts + features + waiting + request
    }

    pub(crate) fn weigh(&self, bytes: usize) {
        self.weight.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn deliver(&self, messages: impl IntoIterator<Item = Arc<Message>>) {
        locked(&self.inbox).extend(messages);
    }

    pub(crate) fn note_level(&self, level: ContextLevel) {
        *locked(&self.level) = Some(level);
    }

    pub(crate) fn noted_level(&self) -> Option<ContextLevel> {
        locked(&self.level).clone()
    }

    /// Returns the newest message and the messages in memory, if the state is not locked.
    pub fn glance(&self) -> Option<(Seq, Vec<Arc<Message>>)> {
        let guard = self.state.try_lock().ok()?;
        let loaded = guard.as_ref()?;
        Some((loaded.session.last_seq, loaded.messages()))
    }

    /// Drops the state; the next use loads it again.
    pub async fn unload(&self) {
        let unloaded = self.state.lock().await.take();
        if let Some(loaded) = &unloaded {
            *locked(&self.remembered) = Some(RememberedState::of(loaded));
        }
        self.forget_evicted();
        self.weigh(0);
    }

    pub(crate) fn remembered(&self) -> Option<RememberedState> {
        locked(&self.remembered).clone()
    }

    pub(crate) fn forget_evicted(&self) {
        *locked(&self.evicted) = None;
    }

    /// Notes a session that is too large to be loaded. The caller holds the lock of the state.
    pub(crate) fn note_evicted(&self, evicted: EvictedSession) {
        locked(&self.inbox).clear();
        *locked(&self.evicted) = Some(evicted);
    }

    /// Drops the state of a session that is too large to stay in memory, even while others use the handle. Does nothing if
    /// the state is locked.
    pub(crate) fn evict(&self) {
        let Ok(mut state) = self.state.try_lock() else { return };
        if let Some(loaded) = state.take() {
            self.note_evicted(EvictedSession::of(&loaded, loaded.state.history.weight()));
            self.weigh(0);
        }
    }

    /// Counts messages of an evicted session; returns `None` when it is time to load the session. The caller holds the
    /// lock of the state, so no other task loads the session meanwhile. A later load reads these messages from the
    /// store.
    pub(crate) fn grow(&self, fresh: &[Arc<Message>]) -> Option<EvictedSession> {
        let mut evicted = locked(&self.evicted);
        let known = evicted.as_mut()?;
        known.grow(fresh);
        if known.grown >= UNSEEN_TOKENS && known.bytes <= MAX_LOAD_BYTES {
            return None;
        }
        locked(&self.inbox).clear();
        Some(known.clone())
    }

    /// Returns the handle without the state. Small parts stay, such as the level and the cache watch.
    fn without_state(&self) -> Self {
        let mut remembered = self.remembered();
        let known = self.state.try_lock().ok().and_then(|state| {
            let loaded = state.as_ref()?;
            remembered = Some(RememberedState::of(loaded));
            let mut evicted = EvictedSession::of(loaded, loaded.state.history.weight());
            evicted.grow(&locked(&self.inbox));
            evicted.grown = 0;
            Some(evicted)
        });
        Self {
            cache: self.cache.clone(),
            level: Mutex::new(self.noted_level()),
            evicted: Mutex::new(known.or_else(|| locked(&self.evicted).clone())),
            remembered: Mutex::new(remembered),
            touched: AtomicUsize::new(self.touched.load(Ordering::Relaxed)),
            users: Arc::clone(&self.users),
            ..Self::new(self.id)
        }
    }
}

fn moved(session: SessionId) -> StoreError {
    StoreError::Moved { session, holder: "the daemon that has asked for it".to_owned() }
}

fn tokens_of(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|m| HistoryEntry::new(Arc::clone(m)).tokens()).sum()
}

/// Exclusive use of a session's facts. Taken after the session's own lock, never before it: the holder waits only for
/// the store.
pub type FactsGuard = OwnedMutexGuard<Facts>;

/// Exclusive use of a loaded session.
pub type SessionGuard = OwnedMappedMutexGuard<Option<LoadedSession>, LoadedSession>;

#[derive(Debug, Default)]
pub(crate) struct Registry {
    handles: Mutex<HashMap<SessionId, Arc<SessionHandle>>>,
    /// Sessions that are being released to another daemon.
    leaving: Mutex<HashMap<SessionId, LeavingHandle>>,
    clock: AtomicUsize,
    /// The sum of the handles' counted sizes. With thousands of sessions, adding up their sizes takes as long as an append.
    counted: AtomicUsize,
}

/// The handle of a session that is being released, for requests within the requests that use it.
#[derive(Debug)]
struct LeavingHandle {
    handle: Weak<SessionHandle>,
    left: CancellationToken,
}

/// A session that is being released to another daemon, until this is dropped.
#[derive(Debug)]
pub(crate) struct LeavingSession {
    registry: Arc<Registry>,
    pub(crate) id: SessionId,
    handle: Weak<SessionHandle>,
    unused: CancellationToken,
}

impl LeavingSession {
    /// Waits until nothing uses the state that this daemon had.
    pub(crate) async fn unused(&self) {
        self.unused.cancelled().await;
    }

    /// From now on, nothing more is done with the state.
    pub(crate) fn end_use(&self) {
        if let Some(handle) = self.handle.upgrade() {
            handle.released.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for LeavingSession {
    fn drop(&mut self) {
        if let Some(leaving) = locked(&self.registry.leaving).remove(&self.id) {
            leaving.left.cancel();
        }
    }
}

impl Registry {
    fn touch(&self, handle: &SessionHandle) {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        handle.touched.store(now, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, id: SessionId) -> Option<Arc<SessionHandle>> {
        let handle = locked(&self.handles).get(&id).cloned();
        let handle = handle.or_else(|| locked(&self.leaving).get(&id)?.handle.upgrade());
        let handle = handle.filter(|handle| handle.check().is_ok());
        if let Some(handle) = &handle {
            self.touch(handle);
        }
        handle
    }

    /// Returns the session's handle, which is created if there is none. While the session is being released, returns its old
    /// handle as long as that is used, because whoever uses it may be the caller; then waits. Returns `Moved` if the old handle
    /// may not be used any longer.
    pub(crate) async fn enter(&self, id: SessionId) -> StoreResult<Arc<SessionHandle>> {
        loop {
            let leaving = match locked(&self.leaving).get(&id) {
                None => return Ok(self.open(id)),
                Some(leaving) => match leaving.handle.upgrade() {
                    Some(handle) => return handle.check().map(|()| handle),
                    None => leaving.left.clone(),
                },
            };
            leaving.cancelled().await;
        }
    }

    /// Waits until the session is not being released any more.
    pub(crate) async fn left(&self, id: SessionId) {
        let leaving = locked(&self.leaving).get(&id).map(|leaving| leaving.left.clone());
        if let Some(leaving) = leaving {
            leaving.cancelled().await;
        }
    }

    /// Removes the session's handle, so that the next request has to take the session first. Returns `None` if the session is
    /// already being released.
    pub(crate) fn leave(self: &Arc<Self>, id: SessionId) -> Option<LeavingSession> {
        let mut leaving = locked(&self.leaving);
        let Entry::Vacant(place) = leaving.entry(id) else { return None };
        let mut handles = locked(&self.handles);
        let removed = handles.remove(&id);
        self.uncount(removed.as_deref());
        drop(handles);
        let handle = removed.as_ref().map(Arc::downgrade).unwrap_or_default();
        let unused = removed.as_ref().map(|handle| handle.users.token().clone());
        let unused = unused.unwrap_or_else(|| {
            let unused = CancellationToken::new();
            unused.cancel();
            unused
        });
        place.insert(LeavingHandle { handle: handle.clone(), left: CancellationToken::new() });
        // The state may be large, and nobody should wait meanwhile.
        drop(leaving);
        drop(removed);
        Some(LeavingSession { registry: Arc::clone(self), id, handle, unused })
    }

    /// Returns the ids of all sessions that have a handle.
    pub(crate) fn ids(&self) -> Vec<SessionId> {
        locked(&self.handles).keys().copied().collect()
    }

    fn open(&self, id: SessionId) -> Arc<SessionHandle> {
        let mut handles = locked(&self.handles);
        let handle = handles.entry(id).or_insert_with(|| Arc::new(SessionHandle::new(id)));
        self.touch(handle);
        Arc::clone(handle)
    }

    pub(crate) fn remove(&self, id: SessionId) {
        let mut handles = locked(&self.handles);
        let removed = handles.remove(&id);
        self.uncount(removed.as_deref());
        // The state may be large, and nobody should wait meanwhile.
        drop(handles);
        drop(removed);
    }

    /// Returns the size of all sessions in memory, in bytes.
    #[cfg(test)]
    pub(crate) fn weight(&self) -> usize {
        locked(&self.handles).values().map(|handle| handle.weight()).sum()
    }

    #[cfg(test)]
    pub(crate) fn counted(&self) -> usize {
        self.counted.load(Ordering::Relaxed)
    }

    /// Counts the bytes by which the session has grown or shrunk since it was last counted.
    pub(crate) fn count(&self, handle: &SessionHandle) {
        let handles = locked(&self.handles);
        if handles.get(&handle.id).is_some_and(|own| std::ptr::eq(&raw const **own, handle)) {
            self.count_as(handle, handle.weight());
        }
    }

    /// The caller holds the lock of the table.
    fn count_as(&self, handle: &SessionHandle, bytes: usize) {
        let before = handle.counted.swap(bytes, Ordering::Relaxed);
        self.counted.fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Evicts sessions if they may take more than `budget` bytes.
    pub(crate) fn trim(&self, budget: usize) {
        let is_too_large = self.counted.load(Ordering::Relaxed) > budget;
        if is_too_large || locked(&self.handles).len() > MAX_HANDLES {
            self.evict(budget);
        }
    }

    /// Weighs all sessions. If they exceed `budget` bytes, evicts the least recently used ones until a sixteenth of the
    /// budget is free, so that the next appends need not weigh all sessions again.
    pub(crate) fn evict(&self, budget: usize) {
        let mut handles = locked(&self.handles);
        let weighed = handles.values().map(|handle| (handle.id, handle.weight()));
        let weights: HashMap<SessionId, usize> = weighed.collect();
        let mut all: usize = weights.values().sum();
        self.counted.store(all, Ordering::Relaxed);
        for handle in handles.values() {
            handle.counted.store(weights[&handle.id], Ordering::Relaxed);
        }
        // A handle in use has references outside the table.
        let is_idle = |handle: &&Arc<SessionHandle>| Arc::strong_count(handle) == 1;
        let idle = handles.values().filter(is_idle);
        let mut idle: Vec<_> =
            idle.map(|handle| (handle.touched.load(Ordering::Relaxed), handle.id)).collect();
        idle.sort_unstable();
        let room = if all > budget { budget - budget / EVICTION_DIVISOR } else { budget };
        let mut oldest = idle.iter().map(|(_, id)| id);
        while all > room
            && let Some(id) = oldest.next()
        {
            let Some(handle) = handles.get_mut(id).filter(|_| weights[id] > 0) else { continue };
            all -= weights[id];
            self.count_as(handle, 0);
            *handle = Arc::new(handle.without_state());
        }
        if handles.len() > MAX_HANDLES {
            let surplus = handles.len() - (MAX_HANDLES - MAX_HANDLES / EVICTION_DIVISOR);
            for (_, id) in idle.iter().take(surplus) {
                self.uncount(handles.remove(id).as_deref());
            }
        }
    }

    /// A handle that is not in the table is not counted.
    fn uncount(&self, removed: Option<&SessionHandle>) {
        if let Some(handle) = removed {
            self.count_as(handle, 0);
        }
    }
}
