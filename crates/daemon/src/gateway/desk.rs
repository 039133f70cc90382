//! Conversations at hand: the marks of their beginnings, so that most requests are recognised without the disk.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bethink_api::ModelSpec;
use bethink_context::thresholds::OUTPUT_RESERVE;
use bethink_lineage::Scope;
use bethink_store::ClientSession;
use bethink_transcript::SessionId;
use tokio::sync::Mutex as AsyncMutex;

use super::ClientKey;
use super::line::{Line, Work};

/// Marks kept at hand, about 100 bytes each: the newest hundred sessions of two thousand messages.
const MAX_MARKS: usize = 200_000;
/// Clients' keys kept at hand.
const MAX_KEYS: usize = 10_000;
/// Requests that are looked for on disk at once, if they begin differently.
const STRIPES: usize = 32;

/// A session that requests continue.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) scope: Scope,
    /// Of each beginning of its history, the shortest first.
    pub(super) marks: Vec<u128>,
    /// Nothing was decided that a prompt would show.
    pub(super) is_simple: bool,
    pub(super) model: ModelSpec,
    pub(super) line: Arc<Line>,
    /// What stands around its messages, as one number.
    pub(super) frame: Option<u64>,
    pub(super) touched: u64,
}

/// A session that begins like a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Near {
    pub(super) session: SessionId,
    /// So many messages are the same.
    pub(super) through: usize,
    /// They are all that it has.
    pub(super) is_whole: bool,
}

/// The session that a client's key stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub(super) session: SessionId,
    /// It was made by a request that brought tools: an agent's, and not one for a title.
    pub(super) is_agent: bool,
}

#[derive(Debug, Default)]
pub(crate) struct GatewayDesk {
    state: Mutex<State>,
    stripes: [AsyncMutex<()>; STRIPES],
}

#[derive(Debug, Default)]
struct State {
    branches: HashMap<SessionId, Branch>,
    /// Sessions by the mark of their whole history, and by that of each beginning.
    tips: HashMap<(Scope, u128), SessionId>,
    places: HashMap<(Scope, u128), SessionId>,
    claims: HashMap<ClientKey, Claim>,
    /// Marks of all first messages, stored and at hand; none until they were read.
    firsts: Option<HashSet<(Scope, u128)>>,
    clock: u64,
    marks: usize,
}

impl GatewayDesk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held while a conversation that begins with `mark` is looked for on disk.
    pub(super) fn stripe(&self, mark: u128) -> &AsyncMutex<()> {
        let [first, ..] = &self.stripes;
        let at = usize::try_from(mark % STRIPES as u128).unwrap_or_default();
        self.stripes.get(at).unwrap_or(first)
    }

    /// The session at hand that shares most with a request; a whole history before a part.
    pub(super) fn longest(&self, scope: Scope, marks: &[u128]) -> Option<Near> {
        let state = self.state();
        marks.iter().enumerate().rev().find_map(|(at, mark)| {
            let near = |session: &SessionId, is_whole| Near {
                session: *session,
                through: at + 1,
                is_whole,
            };
            let whole = state.tips.get(&(scope, *mark)).map(|session| near(session, true));
            whole.or_else(|| state.places.get(&(scope, *mark)).map(|session| near(session, false)))
        })
    }

    /// The longest session at hand that a request has all of.
    pub(super) fn longest_whole(&self, scope: Scope, marks: &[u128]) -> Option<Near> {
        let state = self.state();
        marks.iter().enumerate().rev().find_map(|(at, mark)| {
            let session = *state.tips.get(&(scope, *mark))?;
            Some(Near { session, through: at + 1, is_whole: true })
        })
    }

    /// How much of a session at hand a request shares.
    pub(super) fn shared_with(&self, session: SessionId, marks: &[u128]) -> Option<Near> {
        let state = self.state();
        let branch = state.branches.get(&session)?;
        let through = branch.marks.iter().zip(marks).take_while(|(a, b)| a == b).count();
        Some(Near { session, through, is_whole: through == branch.marks.len() })
    }

    /// Adds what a request brings behind the first `known` messages, and puts its storing in line; `false` if
    /// somebody was faster.
    pub(super) fn extend(
        &self,
        session: SessionId,
        known: usize,
        marks: &[u128],
        model: Option<&ModelSpec>,
        work: impl FnOnce(&Branch) -> Work,
    ) -> bool {
        let mut state = self.state();
        let Some(branch) = state.branches.get_mut(&session) else { return false };
        if branch.marks.len() != known {
            return false;
        }
        if let Some(model) = model.filter(|model| !same_model(model, &branch.model)) {
            branch.model = model.clone();
            branch.line.push(Work::Model(model.clone()));
        }
        let new = work(branch);
        branch.line.push(new);
        state.lengthen(session, marks);
        true
    }

    /// Takes a session in; `false` if it is at hand already.
    pub(super) fn insert(&self, session: SessionId, branch: Branch) -> bool {
        let mut state = self.state();
        if state.branches.contains_key(&session) {
            return false;
        }
        let marks = branch.marks.clone();
        state.branches.insert(session, Branch { marks: Vec::new(), ..branch });
        state.lengthen(session, &marks);
        state.trim();
        true
    }

    /// The marks of its first messages.
    pub(super) fn marks_of(&self, session: SessionId, through: usize) -> Vec<u128> {
        let state = self.state();
        let marks = state.branches.get(&session).and_then(|branch| branch.marks.get(..through));
        marks.unwrap_or_default().to_vec()
    }

    /// Notes what stands around a conversation's messages; whether it is news.
    pub(super) fn framed(&self, session: SessionId, frame: u64) -> bool {
        let mut state = self.state();
        let Some(branch) = state.branches.get_mut(&session) else { return false };
        branch.frame.replace(frame) != Some(frame)
    }

    pub(super) fn line(&self, session: SessionId) -> Option<Arc<Line>> {
        self.state().branches.get(&session).map(|branch| Arc::clone(&branch.line))
    }

    pub(super) fn scope(&self, session: SessionId) -> Option<Scope> {
        self.state().branches.get(&session).map(|branch| branch.scope)
    }

    pub(super) fn is_simple(&self, session: SessionId) -> bool {
        self.state().branches.get(&session).is_some_and(|branch| branch.is_simple)
    }

    pub(super) fn knows(&self, session: SessionId) -> bool {
        self.state().branches.contains_key(&session)
    }

    /// A prompt of the session would show something else than its history.
    pub(crate) fn edited(&self, session: SessionId) {
        if let Some(branch) = self.state().branches.get_mut(&session) {
            branch.is_simple = false;
        }
    }

    /// The session is looked for on disk from now on.
    pub(crate) fn forget(&self, session: SessionId) {
        self.state().drop_branch(session);
    }

    pub(crate) fn deleted(&self, session: SessionId) {
        let mut state = self.state();
        state.drop_branch(session);
        state.claims.retain(|_, claim| claim.session != session);
    }

    /// Whether any conversation begins so; none until [`Self::begins_with`] was told.
    pub(super) fn is_begun(&self, scope: Scope, first: u128) -> Option<bool> {
        self.state().firsts.as_ref().map(|firsts| firsts.contains(&(scope, first)))
    }

    /// What the stored conversations begin with.
    pub(super) fn begins_with(&self, stored: Vec<(u64, u128)>) {
        let mut state = self.state();
        let known: Vec<_> = (state.branches.values())
            .filter_map(|branch| Some((branch.scope, *branch.marks.first()?)))
            .collect();
        let stored = stored.into_iter().map(|(scope, mark)| (Scope(scope), mark));
        state.firsts = Some(stored.chain(known).collect());
    }

    pub(super) fn claim(&self, key: &ClientKey) -> Option<Claim> {
        self.state().claims.get(key).copied()
    }

    pub(super) fn stands_for(&self, known: &ClientSession) -> bool {
        let key = ClientKey { entrance: known.client.clone(), key: known.key.clone() };
        self.claim(&key).is_none_or(|claim| claim.session == known.session)
    }

    /// Notes what a key stands for; what stands there already, if it is another agent's.
    pub(super) fn set_claim(&self, key: &ClientKey, claim: Claim) -> Option<Claim> {
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

impl State {
    fn lengthen(&mut self, session: SessionId, marks: &[u128]) {
        self.clock += 1;
        let Some(branch) = self.branches.get_mut(&session) else { return };
        branch.touched = self.clock;
        let scope = branch.scope;
        if let (Some(old), false) = (branch.marks.last(), marks.is_empty())
            && self.tips.get(&(scope, *old)) == Some(&session)
        {
            self.tips.remove(&(scope, *old));
        }
        branch.marks.extend_from_slice(marks);
        self.marks += marks.len();
        for mark in marks {
            self.places.entry((scope, *mark)).or_insert(session);
        }
        if let (Some(firsts), Some(first)) = (&mut self.firsts, branch.marks.first()) {
            firsts.insert((scope, *first));
        }
        if let Some(tip) = branch.marks.last() {
            self.tips.insert((scope, *tip), session);
        }
    }

    fn drop_branch(&mut self, session: SessionId) {
        let Some(branch) = self.branches.remove(&session) else { return };
        self.marks -= branch.marks.len();
        for mark in branch.marks {
            let key = (branch.scope, mark);
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
            let idle = self.branches.iter().filter(|(_, branch)| branch.line.is_idle());
            let Some(oldest) = idle.min_by_key(|(_, b)| b.touched).map(|(id, _)| *id) else {
                return;
            };
            self.drop_branch(oldest);
        }
    }
}

/// As far as prompts differ: more output than the reserve changes no window.
fn same_model(a: &ModelSpec, b: &ModelSpec) -> bool {
    let reserve = |model: &ModelSpec| model.max_output_tokens.map(|most| most.min(OUTPUT_RESERVE));
    a.name == b.name && a.context_window == b.context_window && reserve(a) == reserve(b)
}
