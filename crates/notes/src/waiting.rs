//! Updates under way, and how long a compaction waits for one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Mutex;
use std::time::Duration;

use bethink_service::locked;
use bethink_transcript::{SessionId, UnixMicros};
use tokio::sync::watch;

/// How long a compaction waits for an update (specification, section 4).
const PATIENCE: Duration = Duration::from_secs(15);
/// An update that began longer ago than this hangs, and is not waited for.
const STALE_MICROS: i64 = 60_000_000;

/// Sessions with an update that is enqueued or under way.
#[derive(Debug, Default)]
pub(crate) struct Flights(Mutex<HashMap<SessionId, Flight>>);

#[derive(Debug, Default)]
struct Flight {
    /// `None` before it begins.
    begun: Option<UnixMicros>,
    /// Closed at the end.
    end: watch::Sender<()>,
}

impl Flights {
    /// `false` if an update of this session is under way.
    pub(crate) fn enter(&self, id: SessionId) -> bool {
        match locked(&self.0).entry(id) {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                free.insert(Flight::default());
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

    /// Signals the end of an update that is worth waiting for.
    fn end(&self, id: SessionId, now: UnixMicros) -> Option<watch::Receiver<()>> {
        let flights = locked(&self.0);
        let flight = flights.get(&id)?;
        let fresh = flight.begun.is_some_and(|begun| now.0 - begun.0 <= STALE_MICROS);
        fresh.then(|| flight.end.subscribe())
    }

    /// Waits briefly for an update that is under way.
    pub(crate) async fn wait(&self, id: SessionId, now: UnixMicros) {
        let Some(mut end) = self.end(id, now) else { return };
        metrics::counter!("bethink_notes_waits_total").increment(1);
        // The sender is dropped when the update ends, in any way.
        if tokio::time::timeout(PATIENCE, end.changed()).await.is_err() {
            tracing::warn!(session = %id, "the notes were not ready in time; compacting without them");
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
        let flights = Flights::default();
        assert!(flights.enter(ID) && !flights.enter(ID));
        assert!(flights.enter(SessionId(Uuid::from_u128(8))));
        flights.leave(ID);
        assert!(flights.enter(ID));
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_fresh_update_is_waited_for() {
        let flights = Flights::default();
        flights.enter(ID);
        assert!(flights.end(ID, NOW).is_none(), "not begun");
        flights.begin(ID, NOW);
        let late = UnixMicros(NOW.0 + STALE_MICROS + 1);
        assert!(flights.end(ID, late).is_none(), "it hangs");
        let mut end = flights.end(ID, UnixMicros(late.0 - 1)).unwrap();
        let waited = tokio::time::timeout(PATIENCE, end.changed());
        assert!(waited.await.is_err(), "still under way");
        flights.leave(ID);
        assert!(tokio::time::timeout(PATIENCE, end.changed()).await.is_ok());
    }
}
