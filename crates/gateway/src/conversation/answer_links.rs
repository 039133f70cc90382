//! Answers that later requests can continue by sending the answer's ID instead of the earlier messages.

use std::collections::HashMap;
use std::sync::Arc;

use bethink_transcript::SessionId;

/// Maximum number of answers that can be looked up by ID. Each entry takes a few hundred bytes, because all answers of a
/// conversation share its instructions.
const MAX_ANSWERS: usize = 10_000;

/// The place of an answer in a session.
#[derive(Clone, Debug)]
pub(super) struct AnswerLink {
    pub(super) session: SessionId,
    /// Number of messages up to and including the answer.
    pub(super) through: usize,
    pub(super) heads: Arc<[String]>,
}

/// The known answers by their IDs.
#[derive(Debug, Default)]
pub(super) struct AnswerLinks {
    links: HashMap<String, AnswerLink>,
    /// The instructions of the newest answer, for other answers to share.
    newest: Option<Arc<[String]>>,
}

impl AnswerLinks {
    pub(super) fn add(&mut self, id: String, mut link: AnswerLink) {
        if self.links.len() >= MAX_ANSWERS {
            self.links.clear();
        }
        match &self.newest {
            Some(newest) if *newest == link.heads => link.heads = Arc::clone(newest),
            _ => self.newest = Some(Arc::clone(&link.heads)),
        }
        self.links.insert(id, link);
    }

    pub(super) fn get(&self, id: &str) -> Option<AnswerLink> {
        self.links.get(id).cloned()
    }

    pub(super) fn remove(&mut self, session: SessionId) {
        self.links.retain(|_, link| link.session != session);
    }
}
