//! A cache of conversations with the hashes of their prefixes (marks), so that most requests are recognized without
//! reading the disk.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use bethink_api::ModelSpec;
use bethink_context::thresholds::OUTPUT_RESERVE;
use bethink_prefix_match::ChainScope;
use bethink_service::locked;
use bethink_store::ClientSession;
use bethink_transcript::SessionId;
use tokio::sync::Mutex as AsyncMutex;

use super::answer_links::{AnswerLink, AnswerLinks};
use super::queue::{StorageQueue, StorageTask};
use super::read_request::RequestingAgent;
use super::request::ClientKey;

/// Maximum number of cached marks, about 100 bytes each: enough for a hundred sessions with two thousand messages each.
const MAX_MARKS: usize = 200_000;
/// Maximum number of cached client keys.
const MAX_KEYS: usize = 10_000;
/// Number of locks for searches in the store. With this many, conversations with different first messages rarely wait for each
/// other.
const STRIPES: usize = 32;

/// A cached session that requests may continue.
#[derive(Debug)]
pub(super) struct CachedConversation {
    pub(super) scope: ChainScope,
    /// The mark of each prefix of the session's history, shortest prefix first.
    pub(super) marks: Vec<u128>,
    /// Whether prompts show the session's history unchanged.
    pub(super) is_unedited: bool,
    pub(super) model: ModelSpec,
    pub(super) queue: Arc<StorageQueue>,
    /// Hash of the session's system prompt and tools.
    pub(super) frame: Option<u64>,
    /// The agent that sent the session's last request; `None` if this daemon has received no request for the session.
    pub(super) agent: Option<RequestingAgent>,
    pub(super) last_used: u64,
}

/// A session that has a prefix in common with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedPrefix {
    pub(super) session: SessionId,
    /// Number of messages that the session and the request have in common.
    pub(super) through: usize,
    /// Whether the session consists of only these messages.
    pub(super) is_whole: bool,
}

/// The session that a client's key refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyClaim {
    pub(super) session: SessionId,
    /// Whether the session was created for a request with tools. If so, the session belongs to an agent. A request for a title
    /// has no tools.
    pub(super) is_agent: bool,
}

/// The session that a request belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConversationPlace {
    pub(super) session: SessionId,
    pub(super) scope: ChainScope,
    /// Whether prompts show the session's history unchanged.
    pub(super) is_unedited: bool,
}

#[derive(Debug, Default)]
pub(super) struct ConversationCache {
    state: Mutex<CacheState>,
    stripes: [AsyncMutex<()>; STRIPES],
}

#[derive(Debug, Default)]
struct CacheState {
    conversations: HashMap<SessionId, CachedConversation>,
    /// Sessions by the mark of their whole history.
    tips: HashMap<(ChainScope, u128), SessionId>,
    /// Sessions by the mark of each prefix.
    places: HashMap<(ChainScope, u128), SessionId>,
    claims: HashMap<ClientKey, KeyClaim>,
    answers: AnswerLinks,
    /// Marks of the first messages of all stored and cached sessions; `None` until they are read.
    firsts: Option<HashSet<(ChainScope, u128)>>,
    clock: u64,
    marks: usize,
}

impl ConversationCache {
    fn state(&self) -> MutexGuard<'_, CacheState> {
        locked(&self.state)
    }

    /// Returns the lock to hold while a conversation with this mark is looked up in the store.
    pub(super) fn stripe(&self, mark: u128) -> &AsyncMutex<()> {
        let [first, ..] = &self.stripes;
        let at = usize::try_from(mark % STRIPES as u128).unwrap_or_default();
        self.stripes.get(at).unwrap_or(first)
    }

    /// Returns the cached session that shares the longest prefix with a request. A session without further messages is
    /// preferred.
    pub(super) fn longest(&self, scope: ChainScope, marks: &[u128]) -> Option<SharedPrefix> {
        let state = self.state();
        marks.iter().enumerate().rev().find_map(|(at, mark)| {
            let (key, through) = ((scope, *mark), at + 1);
            let tip = state.tips.get(&key);
            let session = *tip.or_else(|| state.places.get(&key))?;
            Some(SharedPrefix { session, through, is_whole: tip.is_some() })
        })
    }

    /// Returns the longest cached session whose whole history is a prefix of a request.
    pub(super) fn longest_whole(&self, scope: ChainScope, marks: &[u128]) -> Option<SharedPrefix> {
        let state = self.state();
        marks.iter().enumerate().rev().find_map(|(at, mark)| {
            let session = *state.tips.get(&(scope, *mark))?;
            Some(SharedPrefix { session, through: at + 1, is_whole: true })
        })
    }

    /// Returns the prefix that a cached session and a request have in common: its longest pair of equal marks. The marks before
    /// the first answer may differ, because they contain the model and the tools, which a client may have changed since.
    pub(super) fn shared_with(&self, session: SessionId, marks: &[u128]) -> Option<SharedPrefix> {
        let state = self.state();
        let conversation = state.conversations.get(&session)?;
        let last = conversation.marks.iter().zip(marks).rposition(|(a, b)| a == b);
        let through = last.map_or(0, |last| last + 1);
        Some(SharedPrefix { session, through, is_whole: through == conversation.marks.len() })
    }

    /// Adds the messages of a request after the first `known`, and enqueues the task that stores them; `false` if the
    /// session does not have exactly `known` messages, for example because another request was faster.
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
        state.add_marks(session, marks);
        true
    }

    /// Adds a session; `false` if it is already cached.
    pub(super) fn insert(&self, session: SessionId, conversation: CachedConversation) -> bool {
        let mut state = self.state();
        if state.conversations.contains_key(&session) {
            return false;
        }
        let marks = conversation.marks.clone();
        state
            .conversations
            .insert(session, CachedConversation { marks: Vec::new(), ..conversation });
        state.add_marks(session, &marks);
        state.trim();
        true
    }

    /// Returns the marks of a session's first `through` messages; empty if there are fewer.
    pub(super) fn marks_of(&self, session: SessionId, through: usize) -> Vec<u128> {
        let marks = self.of(session, |known| known.marks.get(..through).map(<[u128]>::to_vec));
        marks.flatten().unwrap_or_default()
    }

    /// Records which agent continues a conversation.
    pub(super) fn set_agent(&self, session: SessionId, agent: RequestingAgent) {
        if let Some(conversation) = self.state().conversations.get_mut(&session) {
            conversation.agent = Some(agent);
        }
    }

    /// Whether a conversation belongs to another agent.
    pub(super) fn is_of_other(&self, session: SessionId, agent: RequestingAgent) -> bool {
        let known = self.of(session, |conversation| conversation.agent).flatten();
        known.is_some_and(|known| known.is_other(agent))
    }

    /// Records the hash of a conversation's system prompt and tools. Returns whether it changed.
    pub(super) fn set_frame(&self, session: SessionId, frame: u64) -> bool {
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

    pub(super) fn is_unedited(&self, session: SessionId) -> bool {
        self.of(session, |conversation| conversation.is_unedited).unwrap_or(false)
    }

    pub(super) fn knows(&self, session: SessionId) -> bool {
        self.state().conversations.contains_key(&session)
    }

    fn of<T>(&self, session: SessionId, read: impl FnOnce(&CachedConversation) -> T) -> Option<T> {
        self.state().conversations.get(&session).map(read)
    }

    /// Records that prompts no longer show the session's history unchanged.
    pub(super) fn edited(&self, session: SessionId) {
        if let Some(conversation) = self.state().conversations.get_mut(&session) {
            conversation.is_unedited = false;
        }
    }

    /// Removes the session, so that it is read from the store again.
    pub(super) fn forget(&self, session: SessionId) {
        self.state().drop_conversation(session);
    }

    pub(super) fn forget_all(&self) {
        let mut state = self.state();
        let all: Vec<SessionId> = state.conversations.keys().copied().collect();
        all.into_iter().for_each(|session| state.drop_conversation(session));
    }

    pub(super) fn deleted(&self, session: SessionId) {
        let mut state = self.state();
        state.drop_conversation(session);
        state.claims.retain(|_, claim| claim.session != session);
        state.answers.remove(session);
    }

    /// Returns whether any conversation begins with this mark; `None` until [`Self::set_beginnings`] has been called.
    pub(super) fn is_begun(&self, scope: ChainScope, first: u128) -> Option<bool> {
        self.state().firsts.as_ref().map(|firsts| firsts.contains(&(scope, first)))
    }

    /// Records the marks of all stored first messages.
    pub(super) fn set_beginnings(&self, stored: Vec<(u64, u128)>) {
        let mut state = self.state();
        let known: Vec<_> = (state.conversations.values())
            .filter_map(|conversation| Some((conversation.scope, *conversation.marks.first()?)))
            .collect();
        let stored = stored.into_iter().map(|(scope, mark)| (ChainScope(scope), mark));
        state.firsts = Some(stored.chain(known).collect());
    }

    /// Records which answer of a session has this ID.
    pub(super) fn add_answer_link(&self, id: String, link: AnswerLink) {
        self.state().answers.add(id, link);
    }

    pub(super) fn answer_link(&self, id: &str) -> Option<AnswerLink> {
        self.state().answers.get(id)
    }

    pub(super) fn claim(&self, key: &ClientKey) -> Option<KeyClaim> {
        self.state().claims.get(key).copied()
    }

    pub(super) fn claim_matches(&self, known: &ClientSession) -> bool {
        let key = ClientKey { entrance: known.client.clone(), key: known.key.clone() };
        self.claim(&key).is_none_or(|claim| claim.session == known.session)
    }

    /// Records which session a key refers to. An existing claim is replaced only if the new claim is an agent's and the
    /// existing one is not. Otherwise, the existing claim is returned if it refers to another session.
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
    fn add_marks(&mut self, session: SessionId, marks: &[u128]) {
        self.clock += 1;
        let Some(conversation) = self.conversations.get_mut(&session) else { return };
        conversation.last_used = self.clock;
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

    /// Removes the least recently used sessions that are completely stored.
    fn trim(&mut self) {
        while self.marks > MAX_MARKS {
            let idle = self.conversations.iter().filter(|(_, known)| known.queue.is_idle());
            let oldest = idle.min_by_key(|(_, known)| known.last_used).map(|(id, _)| *id);
            let Some(oldest) = oldest else { return };
            self.drop_conversation(oldest);
        }
    }
}

/// Compares only what affects prompts. Output limits above [`OUTPUT_RESERVE`] all leave the same room for the prompt.
fn same_model(a: &ModelSpec, b: &ModelSpec) -> bool {
    let reserve = |model: &ModelSpec| model.max_output_tokens.map(|most| most.min(OUTPUT_RESERVE));
    a.name == b.name && a.context_window == b.context_window && reserve(a) == reserve(b)
}
