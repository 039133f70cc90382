//! Which records were seen, and which sidechain each of them continues.

use std::collections::HashMap;
use std::sync::Arc;

use crate::envelope::{Envelope, text};
use crate::line::{SidechainKey, Thread};

/// Remembers every uuid of a file. A record may only continue one that stands before it, as in every
/// file that is written by appending.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    records: HashMap<Box<str>, Seen>,
    agents: HashMap<Box<str>, SidechainKey>,
}

#[derive(Debug)]
struct Seen {
    sidechain: Option<SidechainKey>,
    is_message: bool,
}

impl Chains {
    /// The thread of a record, by its agent or else by the record that it answers: a sidechain starts
    /// where the parent is not on one.
    pub(crate) fn place(&mut self, record: &Envelope<'_>, line: u64) -> Thread {
        let thread = if record.on_sidechain() {
            Thread::Sidechain(self.sidechain(record, line))
        } else {
            Thread::Main
        };
        if let Some(uuid) = text(record.uuid)
            && !self.records.contains_key(&*uuid)
        {
            let sidechain = match &thread {
                Thread::Main => None,
                Thread::Sidechain(key) => Some(key.clone()),
            };
            self.records.insert(uuid.into(), Seen { sidechain, is_message: false });
        }
        thread
    }

    fn sidechain(&mut self, record: &Envelope<'_>, line: u64) -> SidechainKey {
        if let Some(agent) = text(record.agent_id).filter(|agent| !agent.is_empty()) {
            if let Some(key) = self.agents.get(&*agent) {
                return key.clone();
            }
            let key = SidechainKey(Arc::from(&*agent));
            self.agents.insert(agent.into(), key.clone());
            return key;
        }
        let parent = text(record.parent_uuid).and_then(|parent| self.records.get(&*parent));
        if let Some(key) = parent.and_then(|seen| seen.sidechain.clone()) {
            return key;
        }
        match text(record.uuid).filter(|uuid| !uuid.is_empty()) {
            Some(uuid) => SidechainKey(Arc::from(&*uuid)),
            None => SidechainKey(Arc::from(format!("line-{line}"))),
        }
    }

    /// False where a message of this uuid was taken before.
    pub(crate) fn take_message(&mut self, uuid: &str) -> bool {
        match self.records.get_mut(uuid) {
            Some(seen) => !std::mem::replace(&mut seen.is_message, true),
            None => true,
        }
    }

    pub(crate) fn knows(&self, uuid: &str) -> bool {
        self.records.contains_key(uuid)
    }
}
