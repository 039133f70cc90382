//! The queue of a conversation's changes that have not been stored yet, in order.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bethink_api::ModelSpec;
use bethink_prefix_match::ChainScope;
use bethink_service::{ServiceError, locked};
use bethink_store::{ClientSession, Lineage, NewSession};
use bethink_transcript::{Message, Seq};
use tokio::sync::Mutex as AsyncMutex;

use super::read_request::ReadRequest;

#[derive(Debug)]
pub(super) enum StorageTask {
    Begin(Box<NewSession>, Lineage, Option<ClientSession>),
    Model(ModelSpec),
    /// A request that is sent unchanged. `is_new` says whether its system prompt or its tools are new.
    Frame {
        request: Arc<ReadRequest>,
        is_new: bool,
    },
    Append {
        /// The session's last message before the messages to append.
        after: Seq,
        messages: Vec<Message>,
        marks: Vec<u128>,
        scope: ChainScope,
        /// Whether the messages were sent unchanged. If so, later prompts must show their tool results unchanged.
        is_shown: bool,
    },
}

impl StorageTask {
    fn bytes(&self) -> usize {
        match self {
            StorageTask::Append { messages, .. } => messages.iter().map(Message::weight).sum(),
            _ => 0,
        }
    }
}

/// The storage tasks of one conversation.
#[derive(Debug, Default)]
pub(super) struct StorageQueue {
    waiting: Mutex<QueueState>,
    /// Locked while the tasks are carried out.
    pub(super) storing: AsyncMutex<()>,
}

#[derive(Debug, Default)]
struct QueueState {
    tasks: VecDeque<StorageTask>,
    /// Total size of these tasks, in bytes.
    bytes: usize,
    /// The error after which nothing more is stored.
    failed: Option<ServiceError>,
}

impl StorageQueue {
    pub(super) fn push(&self, task: StorageTask) {
        let mut waiting = locked(&self.waiting);
        waiting.bytes += task.bytes();
        waiting.tasks.push_back(task);
    }

    pub(super) fn next(&self) -> Option<StorageTask> {
        let mut waiting = locked(&self.waiting);
        let task = waiting.tasks.pop_front()?;
        waiting.bytes -= task.bytes();
        Some(task)
    }

    pub(super) fn fail(&self, error: &ServiceError) {
        let failed = Some(error.clone());
        *locked(&self.waiting) = QueueState { failed, ..QueueState::default() };
    }

    pub(super) fn failed(&self) -> Option<ServiceError> {
        locked(&self.waiting).failed.clone()
    }

    pub(super) fn is_idle(&self) -> bool {
        locked(&self.waiting).tasks.is_empty() && self.storing.try_lock().is_ok()
    }

    pub(super) fn bytes(&self) -> usize {
        locked(&self.waiting).bytes
    }
}
