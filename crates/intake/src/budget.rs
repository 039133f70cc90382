//! A budget of bytes for all bodies that are read or handled at the same time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// A body of at most this many bytes takes no room, so that ordinary requests never wait for large requests. All
/// connections together have at most about 50 MB of such bodies.
pub(crate) const FREE: u64 = 64 << 10;

/// How long a body waits for room: about as long as it takes to store the largest body.
const PATIENCE: Duration = Duration::from_secs(5);

/// The room for all large bodies. Clones share the same room.
#[derive(Clone, Debug)]
pub struct BodyBudget {
    free: Arc<Semaphore>,
    total: u32,
}

impl BodyBudget {
    pub fn new(bytes: u64) -> Self {
        let total = u32::try_from(bytes).unwrap_or(u32::MAX);
        let permits = usize::try_from(total).unwrap_or(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS))), total }
    }
}

/// The room that one body takes, until it is dropped.
#[derive(Debug, Default)]
pub struct BodyRoom {
    budget: Option<BodyBudget>,
    taken: Option<OwnedSemaphorePermit>,
}

impl BodyRoom {
    /// Returns a handle that has taken no room yet. Without a budget, it never takes any room.
    pub(crate) fn of(budget: Option<BodyBudget>) -> Self {
        Self { budget, taken: None }
    }

    /// Returns whether the body takes room that other bodies may be waiting for.
    pub fn is_taken(&self) -> bool {
        self.taken.is_some()
    }

    /// Takes room for a body of `bytes` bytes. A body that is larger than the whole budget takes all of it, so it is admitted
    /// only when there is no other large body. Returns `false` if no room becomes free in time.
    pub async fn grow(&mut self, bytes: u64) -> bool {
        let Some(budget) = self.budget.as_ref().filter(|_| bytes > FREE) else { return true };
        let wanted = u32::try_from(bytes).unwrap_or(u32::MAX).min(budget.total);
        let taken = self.taken.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = wanted.saturating_sub(u32::try_from(taken).unwrap_or(u32::MAX));
        if missing == 0 {
            return true;
        }
        let more = Arc::clone(&budget.free).acquire_many_owned(missing);
        // The semaphore is never closed.
        let Ok(Ok(more)) = timeout(PATIENCE, more).await else { return false };
        match &mut self.taken {
            Some(taken) => taken.merge(more),
            None => self.taken = Some(more),
        }
        true
    }
}
