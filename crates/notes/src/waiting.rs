//! Pending updates, and how long a compaction waits for one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Mutex;
use std::time::Duration;

use bethink_service::locked;
use bethink_transcript::{SessionId, UnixMicros};
use tokio::sync::watch;

/// Maximum time that a compaction waits for an update.
const MAX_WAIT: Duration = Duration::from_secs(15);
/// Maximum age of an update that a compaction waits for, in microseconds: an older update probably hangs.
const STALE_MICROS: i64 = 60_000_000;

/// Sessions with an update that is enqueued or running.
#[derive(Debug, Default)]
pub(crate) struct PendingUpdates(Mutex<HashMap<SessionId, PendingUpdate>>);

#[derive(Debug, Default)]
struct PendingUpdate {
    /// When the update began; `None` before that.
    begun: Option<UnixMicros>,
    /// Closed when the update ends.
    end: watch::Sender<()>,
}

impl PendingUpdates {
    /// Records a pending update. Returns `false` if the session already has one.
    pub(crate) fn enter(&self, id: SessionId) -> bool {
        match locked(&self.0).entry(id) {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                free.insert(PendingUpdate::default());
                true
            }
        }
    }

    pub(crate) fn begin(&self, id: SessionId, now: UnixMicros) {
        locked(&self.0).entry(id).or_default().begun = Some(now);
    }

    pub(crate) fn leave(&self, id: SessionId) {
        locked(&self.0).remove(&id);
    }

    pub(crate) fn clear(&self) {
        locked(&self.0).clear();
    }

    /// Returns a receiver that is closed when the running update ends; `None` if there is no update worth waiting for.
    fn end(&self, id: SessionId, now: UnixMicros) -> Option<watch::Receiver<()>> {
        let updates = locked(&self.0);
        let update = updates.get(&id)?;
        let fresh = update.begun.is_some_and(|begun| now.0 - begun.0 <= STALE_MICROS);
        fresh.then(|| update.end.subscribe())
    }

    /// Waits up to [`MAX_WAIT`] for a running update.
    pub(crate) async fn wait(&self, id: SessionId, now: UnixMicros) {
        let Some(mut end) = self.end(id, now) else { return };
        metrics::counter!("bethink_notes_waits_total").increment(1);
        // The sender is dropped when the update ends, even if it fails.
        if tokio::time::timeout(MAX_WAIT, end.changed()).await.is_err() {
            tracing::warn!(session = %id, "the notes were not updated in time; compacting without the update");
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const ID: SessionId = SessionId(Uuid::from_u128(7));
    const NOW: UnixMicros = UnixMicros(1_000_000_000);

    #[test]
    fn one_update_of_a_session_at_a_time() {
        let updates = PendingUpdates::default();
        assert!(updates.enter(ID) && !updates.enter(ID));
        assert!(updates.enter(SessionId(Uuid::from_u128(8))));
        updates.leave(ID);
        assert!(updates.enter(ID));
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_fresh_update_is_waited_for() {
        let updates = PendingUpdates::default();
        updates.enter(ID);
        assert!(updates.end(ID, NOW).is_none(), "not started");
        updates.begin(ID, NOW);
        let late = UnixMicros(NOW.0 + STALE_MICROS + 1);
        assert!(updates.end(ID, late).is_none(), "it hangs");
        let mut end = updates.end(ID, UnixMicros(late.0 - 1)).unwrap();
        let waited = tokio::time::timeout(MAX_WAIT, end.changed());
        assert!(waited.await.is_err(), "still running");
        updates.leave(ID);
        assert!(tokio::time::timeout(MAX_WAIT, end.changed()).await.is_ok());
    }
}
