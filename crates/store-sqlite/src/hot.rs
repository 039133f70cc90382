//! What the writer remembers of sessions in use, so that an append need not ask the database.
//!
//! The tables stay the truth: nothing here outlives a write that failed, and an id that seems known
//! is looked up before it counts as stored.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use bethink_transcript::{MessageId, Seq, SessionId};

use crate::options::HOT_IDS;

#[derive(Debug, Default)]
pub(crate) struct Hot {
    sessions: HashMap<SessionId, HotSession>,
    hasher: RandomState,
    /// Counts uses; the session used longest ago leaves first.
    clock: u64,
    /// Number of the newest message of all sessions, once it has been read.
    pub(crate) newest: Option<i64>,
}

#[derive(Debug)]
struct HotSession {
    last_seq: Seq,
    /// Hashes of all its message ids; `None` if there are too many to remember.
    ids: Option<HashSet<u64>>,
    used: u64,
}

impl Hot {
    /// After a write that failed: what was planned did not happen.
    pub(crate) fn forget(&mut self) {
        self.sessions.clear();
        self.newest = None;
    }

    pub(crate) fn forget_session(&mut self, id: SessionId) {
        self.sessions.remove(&id);
    }

    pub(crate) fn knows(&self, id: SessionId) -> bool {
        self.sessions.contains_key(&id)
    }

    /// `ids` are all ids of the session, or `None` if they are too many.
    pub(crate) fn learn<'a>(
        &mut self,
        id: SessionId,
        last_seq: Seq,
        ids: Option<impl Iterator<Item = &'a str>>,
    ) {
        let ids = ids.map(|ids| ids.map(|id| self.hasher.hash_one(id)).collect());
        self.clock += 1;
        self.sessions.insert(id, HotSession { last_seq, ids, used: self.clock });
    }

    pub(crate) fn last_seq(&mut self, id: SessionId) -> Option<Seq> {
        self.clock += 1;
        let session = self.sessions.get_mut(&id)?;
        session.used = self.clock;
        Some(session.last_seq)
    }

    /// `false` is certain; `true` is worth a look.
    pub(crate) fn may_hold(&self, session: SessionId, id: &MessageId) -> bool {
        let Some(session) = self.sessions.get(&session) else { return true };
        session.ids.as_ref().is_none_or(|ids| ids.contains(&self.hasher.hash_one(id.as_str())))
    }

    /// The next place in a session that is known here.
    pub(crate) fn place(&mut self, session: SessionId, id: &MessageId) -> Option<Seq> {
        let hash = self.hasher.hash_one(id.as_str());
        let session = self.sessions.get_mut(&session)?;
        session.last_seq = session.last_seq.next();
        if let Some(ids) = &mut session.ids {
            ids.insert(hash);
        }
        Some(session.last_seq)
    }

    /// Lets go of the sessions used longest ago until the ids fit again.
    pub(crate) fn trim(&mut self) {
        let mut held: usize = self.sessions.values().map(HotSession::weight).sum();
        while held > HOT_IDS {
            let oldest = self.sessions.iter().min_by_key(|(_, session)| session.used);
            let Some(id) = oldest.map(|(id, _)| *id) else { return };
            held -= self.sessions.remove(&id).map_or(0, |session| session.weight());
        }
    }
}

impl HotSession {
    /// A session without remembered ids still takes room.
    fn weight(&self) -> usize {
        16 + self.ids.as_ref().map_or(0, HashSet::len)
    }
}
