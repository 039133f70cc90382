//! The records that were seen, and the sidechain that each of them continues.

use std::collections::HashMap;
use std::sync::Arc;

use crate::envelope::{LineEnvelope, is_true, text};
use crate::line::{SidechainKey, Thread};

/// Every uuid of a file so far. A record can only continue an earlier one, because files are written by appending.
#[derive(Debug, Default)]
pub(crate) struct Chains(HashMap<Box<str>, LineSeen>);

#[derive(Debug)]
struct LineSeen {
    thread: Thread,
    is_message: bool,
}

impl Chains {
    /// Returns the thread of a record: that of its agent, else that of its parent. A sidechain starts at a record whose
    /// parent is not on a sidechain.
    pub(crate) fn place(&mut self, record: &LineEnvelope<'_>, line: u64) -> Thread {
        let thread = match is_true(record.is_sidechain) {
            true => self.sidechain(record, line),
            false => Thread::Main,
        };
        if let Some(uuid) = text(record.uuid) {
            let seen = || LineSeen { thread: thread.clone(), is_message: false };
            self.0.entry(uuid.into()).or_insert_with(seen);
        }
        thread
    }

    fn sidechain(&self, record: &LineEnvelope<'_>, line: u64) -> Thread {
        let key = |name: &str| Thread::Sidechain(SidechainKey(Arc::from(name)));
        if let Some(agent) = text(record.agent_id).filter(|agent| !agent.is_empty()) {
            return key(&agent);
        }
        let parent = text(record.parent_uuid).and_then(|parent| self.0.get(&*parent));
        if let Some(thread @ Thread::Sidechain(_)) = parent.map(|seen| &seen.thread) {
            return thread.clone();
        }
        match text(record.uuid).filter(|uuid| !uuid.is_empty()) {
            Some(uuid) => key(&uuid),
            None => key(&format!("line-{line}")),
        }
    }

    /// Returns `false` if there was already a message with this uuid.
    pub(crate) fn take_message(&mut self, uuid: &str) -> bool {
        match self.0.get_mut(uuid) {
            Some(seen) => !std::mem::replace(&mut seen.is_message, true),
            None => true,
        }
    }

    pub(crate) fn knows(&self, uuid: &str) -> bool {
        self.0.contains_key(uuid)
    }
}
