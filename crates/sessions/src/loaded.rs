//! A session in memory: the state from which turns are made, and the service's own data.

use std::collections::BTreeMap;
use std::sync::Arc;

use bethink_api::RecoveryStep;
use bethink_compactor::Breakers;
use bethink_context::{FixedTokens, History, HistoryEntry, Learner, SessionState, measure};
use bethink_service::{Result, ServiceError};
use bethink_store::{CollapseRecord, CompactionRecord, SessionRecord};
use bethink_transcript::{Message, Seq};
use serde::Deserialize;
use tokio_util::sync::DropGuard;

use crate::cache::Cache;
use crate::last_prompt::{LastPrompt, ProviderWindow};
use crate::prefix::SessionPrefix;
use crate::sent::LastRequest;

/// Recovery steps taken for a prompt that the provider refused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovering {
    /// The newest message when the first step was taken; a newer answer resets the steps.
    pub(crate) after: Seq,
    pub(crate) taken: Vec<RecoveryStep>,
    /// The newest message of a prompt that is retried unchanged, and the number of retries.
    pub(crate) repeated: (Seq, u32),
}

#[derive(Debug)]
pub struct LoadedSession {
    pub session: SessionRecord,
    pub state: SessionState,
    /// Whether the newest compaction was undone.
    pub undone: bool,
    pub last_compaction: Option<CompactionRecord>,
    /// Spans for which a replacement text has been written; empty if collapse is off.
    pub(crate) spans: Vec<CollapseRecord>,
    pub(crate) breakers: Breakers,
    /// The window that the provider reported, if it is smaller than the model's.
    pub(crate) window: Option<ProviderWindow>,
    pub(crate) last_prompt: Option<LastPrompt>,
    /// Whether the last prompt's client wants its messages unchanged while they fit.
    pub(crate) reduce_only_when_full: bool,
    /// Estimated number of tokens in the messages in view.
    pub(crate) view_tokens: u64,
    /// Estimated number of tokens in all messages that were added since the session was loaded.
    pub(crate) grown: u64,
    /// The last request, without its messages.
    pub(crate) last_request: LastRequest,
    /// Steps taken after the provider refused the last prompt.
    pub(crate) recovering: Recovering,
    pub(crate) cache: Cache,
    /// The newest message when a client last set the todos: todo calls up to it are older than the list.
    pub(crate) todos_after: Seq,
    /// Messages that arrived out of order: an earlier message is still missing.
    pub(crate) ahead: BTreeMap<Seq, Arc<Message>>,
    /// See [`SessionHandle::users`](crate::handle::SessionHandle).
    pub(crate) users: Arc<DropGuard>,
}

impl LoadedSession {
    pub(crate) fn take_in(&mut self, message: Arc<Message>) {
        let next = self.session.last_seq.next();
        if message.seq >= next {
            self.ahead.insert(message.seq, message);
        }
        while let Some(message) = self.ahead.remove(&self.session.last_seq.next()) {
            self.push(message);
        }
    }

    fn push(&mut self, message: Arc<Message>) {
        if message.seq > self.todos_after {
            self.state.todos.follow(&message);
        }
        self.session.last_seq = message.seq;
        let entry = HistoryEntry::new(message);
        let state = &mut self.state;
        state.last_seq = entry.message.seq;
        state.learner.observe(&state.model.name, &entry, &state.history, &state.decisions);
        self.view_tokens += entry.tokens();
        self.grown += entry.tokens();
        state.history.push(entry);
    }

    /// Drops the messages, but keeps their token count.
    pub(crate) fn forget_history(&mut self) {
        self.state.history = History::default();
        self.state.learner = Learner::default();
    }

    /// Records how many tokens the system prompt and the tools have in a request that another component made. They
    /// count towards the window.
    pub fn note_fixed(&mut self, fixed: FixedTokens) {
        self.state.fixed = fixed;
    }

    /// Returns an error if the session has no messages; `hint` says what to do first.
    pub(crate) fn require_messages(&self, hint: &'static str) -> Result<()> {
        if self.session.last_seq > Seq::ZERO {
            return Ok(());
        }
        Err(ServiceError::conflict("the session has no messages yet").hint(hint))
    }

    /// Returns the approximate size in memory, in bytes.
    pub(crate) fn weight(&self) -> usize {
        self.state.history.weight()
    }

    /// Returns the texts of the last request's system prompt, which may be from before a restart. Empty if none is known.
    pub fn sent_system(&self) -> Vec<String> {
        #[derive(Deserialize)]
        struct SystemText {
            #[serde(default)]
            text: String,
        }
        let sent = self.last_request.get().unwrap_or_default();
        let texts = serde_json::from_slice::<Vec<SystemText>>(&sent.frame.system);
        texts.unwrap_or_default().into_iter().map(|block| block.text).collect()
    }

    /// Returns the current prompt as a prefix for bethink's own requests.
    pub fn prefix(&self) -> Result<SessionPrefix> {
        SessionPrefix::new(&self.state, self.last_request.get())
    }

    /// Returns the estimated number of tokens in the whole prompt.
    pub(crate) fn estimated(&self) -> u64 {
        self.view_tokens + self.state.fixed.total()
    }

    /// Returns the number of tokens in the whole prompt, as far as the provider has reported it.
    pub(crate) fn measured(&self) -> u64 {
        let SessionState { history, decisions, model, learner, .. } = &self.state;
        measure(history, decisions, &model.name, self.estimated(), learner).tokens
    }

    pub(crate) fn messages(&self) -> Vec<Arc<Message>> {
        self.state.history.entries().iter().map(|entry| Arc::clone(&entry.message)).collect()
    }
}
