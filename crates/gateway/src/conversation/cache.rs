//! Conversations at hand: the marks of their beginnings, so that most requests are recognised without the disk.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bethink_api::ModelSpec;
use bethink_context::thresholds::OUTPUT_RESERVE;
use bethink_prefix_match::ChainScope;
use bethink_store::ClientSession;
use bethink_transcript::SessionId;
use tokio::sync::Mutex as AsyncMutex;

use super::queue::{StorageQueue, StorageTask};
use super::request::ClientKey;

/// Marks kept at hand, about 100 bytes each: the newest hundred sessions of two thousand messages.
const MAX_MARKS: usize = 200_000;
/// Clients' keys kept at hand.
const MAX_KEYS: usize = 10_000;
/// Requests that are looked for on disk at once, if they begin differently.
const STRIPES: usize = 32;

/// A session that requests continue.
#[derive(Debug)]
pub(super) struct CachedConversation {
    pub(super) scope: ChainScope,
    /// Of each beginning of its history, the shortest first.
    pub(super) marks: Vec<u128>,
    /// Nothing was decided that a prompt would show.
    pub(super) is_simple: bool,
    pub(super) model: ModelSpec,
    pub(super) queue: Arc<StorageQueue>,
    /// A hash of what surrounds its messages.
    pub(super) frame: Option<u64>,
    pub(super) touched: u64,
}

/// A session that begins like a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedPrefix {
    pub(super) session: SessionId,
    /// So many messages are the same.
    pub(super) through: usize,
    /// They are all that it has.
    pub(super) is_whole: bool,
}

/// The session that a client's key refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyClaim {
    pub(super) session: SessionId,
    /// It was made by a request that brought tools: an agent's, and not one for a title.
    pub(super) is_agent: bool,
}

/// Where a request belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConversationPlace {
    pub(super) session: SessionId,
    pub(super) scope: ChainScope,
    /// Nothing was decided that a prompt would show.
    pub(super) is_simple: bool,
}

#[derive(Debug, Default)]
pub(super) struct ConversationCache {
    state: Mutex<CacheState>,
    stripes: [AsyncMutex<()>; STRIPES],
}

#[derive(Debug, Default)]
struct CacheState {
    conversations: HashMap<SessionId, CachedConversation>,
    /// Sessions by the mark of their whole history, and by that of each beginning.
    tips: HashMap<(ChainScope, u128), SessionId>,
    places: HashMap<(ChainScope, u128), SessionId>,
    claims: HashMap<ClientKey, KeyClaim>,
    /// Marks of all first messages, stored and at hand; none until they were read.
    firsts: Option<HashSet<(ChainScope, u128)>>,
    clock: u64,
    marks: usize,
}

impl ConversationCache {
    fn state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held while a conversation that begins with `mark` is looked for on disk.
    pub(super) fn stripe(&self, mark: u128) -> &AsyncMutex<()> {
        let [first, ..] = &self.stripes;
        let at = usize::try_from(mark % STRIPES as u128).unwrap_or_default();
        self.stripes.get(at).unwrap_or(first)
    }

    /// The session at hand that shares most with a request; a whole history before a part.
    pub(super) fn longest(&self, scope: ChainScope, marks: &[u128]) -> Option<SharedPrefix> {
        let state = self.state();
        marks.iter().enumerate().rev().find_map(|(at, mark)| {
            let (key, through) = ((scope, *mark), at + 1);
            let tip = state.tips.get(&key);
            let session = *tip.or_else(|| state.places.get(&key))?;
            Some(SharedPrefix { session, through, is_whole: tip.is_some() })
        })
    }

    /// The longest session at hand that a request has all of.
    pub(super) fn longest_whole(&self, scope: ChainScope, marks: &[u128]) -> Option<SharedPrefix> {
        let state = self.state();
        marks.iter().enumerate().rev().find_map(|(at, mark)| {
            let session = *state.tips.get(&(scope, *mark))?;
            Some(SharedPrefix { session, through: at + 1, is_whole: true })
        })
    }

    /// How much of a session at hand a request shares.
    pub(super) fn shared_with(&self, session: SessionId, marks: &[u128]) -> Option<SharedPrefix> {
        let state = self.state();
        let conversation = state.conversations.get(&session)?;
        let through = conversation.marks.iter().zip(marks).take_while(|(a, b)| a == b).count();
        Some(SharedPrefix { session, through, is_whole: through == conversation.marks.len() })
    }

    /// Adds what a request brings behind the first `known` messages, and enqueues its storing; `false` if
    /// somebody was faster.
    pub(super) fn extend(
        &self,
        session: SessionId,
        known: usize,
        marks: &[u128],
        model: Option<&ModelSpec>,
        work: impl FnOnce(&CachedConversation) -> StorageTask,
    ) -> bool {
        let mut state = self.state();
        let Some(conversation) = state.conversations.get_mut(&session) else { return false };
        if conversation.marks.len() != known {
            return false;
        }
        if let Some(model) = model.filter(|model| !same_model(model, &conversation.model)) {
            conversation.model = model.clone();
            conversation.queue.push(StorageTask::Model(model.clone()));
        }
        let new = work(conversation);
        conversation.queue.push(new);
        state.lengthen(session, marks);
        true
    }

    /// Takes a session in; `false` if it is at hand already.
    pub(super) fn insert(&self, session: SessionId, conversation: CachedConversation) -> bool {
        let mut state = self.state();
        if state.conversations.contains_key(&session) {
            return false;
        }
        let marks = conversation.marks.clone();
        state
            .conversations
            .insert(session, CachedConversation { marks: Vec::new(), ..conversation });
        state.lengthen(session, &marks);
        state.trim();
        true
    }

    /// The marks of its first messages.
    pub(super) fn marks_of(&self, session: SessionId, through: usize) -> Vec<u128> {
        let marks = self.of(session, |known| known.marks.get(..through).map(<[u128]>::to_vec));
        marks.flatten().unwrap_or_default()
    }

    /// Records what surrounds a conversation's messages. Returns whether it changed.
    pub(super) fn framed(&self, session: SessionId, frame: u64) -> bool {
        let mut state = self.state();
        let Some(conversation) = state.conversations.get_mut(&session) else { return false };
        conversation.frame.replace(frame) != Some(frame)
    }

    pub(super) fn queue(&self, session: SessionId) -> Option<Arc<StorageQueue>> {
        self.of(session, |conversation| Arc::clone(&conversation.queue))
    }

    pub(super) fn scope(&self, session: SessionId) -> Option<ChainScope> {
        self.of(session, |conversation| conversation.scope)
    }

    pub(super) fn is_simple(&self, session: SessionId) -> bool {
        self.of(session, |conversation| conversation.is_simple).unwrap_or(false)
    }

    pub(super) fn knows(&self, session: SessionId) -> bool {
        self.state().conversations.contains_key(&session)
    }

    fn of<T>(&self, session: SessionId, read: impl FnOnce(&CachedConversation) -> T) -> Option<T> {
        self.state().conversations.get(&session).map(read)
    }

    /// A prompt of the session would show something else than its history.
    pub(super) fn edited(&self, session: SessionId) {
        if let Some(conversation) = self.state().conversations.get_mut(&session) {
            conversation.is_simple = false;
        }
    }

    /// The session is looked for on disk from now on.
    pub(super) fn forget(&self, session: SessionId) {
        self.state().drop_conversation(session);
    }

    pub(super) fn deleted(&self, session: SessionId) {
        let mut state = self.state();
        state.drop_conversation(session);
        state.claims.retain(|_, claim| claim.session != session);
    }

    /// Whether any conversation begins so; none until [`Self::begins_with`] was told.
    pub(super) fn is_begun(&self, scope: ChainScope, first: u128) -> Option<bool> {
        self.state().firsts.as_ref().map(|firsts| firsts.contains(&(scope, first)))
    }

    /// What the stored conversations begin with.
    pub(super) fn begins_with(&self, stored: Vec<(u64, u128)>) {
        let mut state = self.state();
        let known: Vec<_> = (state.conversations.values())
            .filter_map(|conversation| Some((conversation.scope, *conversation.marks.first()?)))
            .collect();
        let stored = stored.into_iter().map(|(scope, mark)| (ChainScope(scope), mark));
        state.firsts = Some(stored.chain(known).collect());
    }

    pub(super) fn claim(&self, key: &ClientKey) -> Option<KeyClaim> {
        self.state().claims.get(key).copied()
    }

    pub(super) fn stands_for(&self, known: &ClientSession) -> bool {
        let key = ClientKey { entrance: known.client.clone(), key: known.key.clone() };
        self.claim(&key).is_none_or(|claim| claim.session == known.session)
    }

    /// Records which session a key refers to. Returns the recorded one if it belongs to another agent.
    pub(super) fn set_claim(&self, key: &ClientKey, claim: KeyClaim) -> Option<KeyClaim> {
        let mut state = self.state();
        if let Some(before) = state.claims.get(key).filter(|c| c.is_agent || !claim.is_agent) {
            return Some(*before).filter(|before| before.session != claim.session);
        }
        if state.claims.len() >= MAX_KEYS {
            state.claims.clear();
        }
        state.claims.insert(key.clone(), claim);
        None
    }
}

impl CacheState {
    fn lengthen(&mut self, session: SessionId, marks: &[u128]) {
        self.clock += 1;
        let Some(conversation) = self.conversations.get_mut(&session) else { return };
        conversation.touched = self.clock;
        let scope = conversation.scope;
        if let (Some(old), false) = (conversation.marks.last(), marks.is_empty())
            && self.tips.get(&(scope, *old)) == Some(&session)
        {
            self.tips.remove(&(scope, *old));
        }
        conversation.marks.extend_from_slice(marks);
        self.marks += marks.len();
        for mark in marks {
            self.places.entry((scope, *mark)).or_insert(session);
        }
        if let (Some(firsts), Some(first)) = (&mut self.firsts, conversation.marks.first()) {
            firsts.insert((scope, *first));
        }
        if let Some(tip) = conversation.marks.last() {
            self.tips.insert((scope, *tip), session);
        }
    }

    fn drop_conversation(&mut self, session: SessionId) {
        let Some(conversation) = self.conversations.remove(&session) else { return };
        self.marks -= conversation.marks.len();
        for mark in conversation.marks {
            let key = (conversation.scope, mark);
            for table in [&mut self.tips, &mut self.places] {
                if table.get(&key) == Some(&session) {
                    table.remove(&key);
                }
            }
        }
    }

    /// Lets go of what was used longest ago and is on disk.
    fn trim(&mut self) {
        while self.marks > MAX_MARKS {
            let idle = self.conversations.iter().filter(|(_, known)| known.queue.is_idle());
            let oldest = idle.min_by_key(|(_, known)| known.touched).map(|(id, _)| *id);
            let Some(oldest) = oldest else { return };
            self.drop_conversation(oldest);
        }
    }
}

/// As far as prompts differ: more output than the reserve changes no window.
fn same_model(a: &ModelSpec, b: &ModelSpec) -> bool {
    let reserve = |model: &ModelSpec| model.max_output_tokens.map(|most| most.min(OUTPUT_RESERVE));
    a.name == b.name && a.context_window == b.context_window && reserve(a) == reserve(b)
}
