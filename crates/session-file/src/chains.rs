//! Which records were seen, and which sidechain each of them continues.

use std::collections::HashMap;
use std::sync::Arc;

use crate::envelope::{LineEnvelope, is_true, text};
use crate::line::{SidechainKey, Thread};

/// Remembers every uuid of a file. A record may only continue one that stands before it, as in every
/// file that is written by appending.
#[derive(Debug, Default)]
pub(crate) struct Chains(HashMap<Box<str>, LineSeen>);

#[derive(Debug)]
struct LineSeen {
    thread: Thread,
    is_message: bool,
}

impl Chains {
    /// The thread of a record, by its agent or else by the record that it answers: a sidechain starts
    /// where the parent is not on one.
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

    /// False where a message of this uuid was taken before.
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
