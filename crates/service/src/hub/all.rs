//! The events of all sessions as one stream.
//!
//! An id is `<boot>-all-<number>`, numbered from 1. A ring buffer holds the newest events. A reader that missed more
//! than these gets a `reset` and reads everything again.

use std::collections::VecDeque;
use std::sync::Arc;

use bethink_api::SessionLifecycle;
use bethink_transcript::SessionId;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::{EventHub, EventId, StreamEvent, StreamedEvent};
use crate::error::{Result, ServiceError};
use crate::event::Event;
use crate::locked;

/// Number of events kept for readers that reconnect: a few minutes of several busy sessions.
pub(super) const KEPT: usize = 2_048;

/// The events of all sessions, missed ones first.
#[derive(Debug)]
pub struct AllEvents {
    missed: VecDeque<StreamEvent>,
    live: broadcast::Receiver<StreamEvent>,
    stop: CancellationToken,
    boot: i64,
}

impl AllEvents {
    /// Waits for the next event; `None` when the daemon stops.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        if let Some(event) = self.missed.pop_front() {
            return Some(event);
        }
        let event = tokio::select! {
            () = self.stop.cancelled() => return None,
            event = self.live.recv() => event,
        };
        match event {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(reset(self.boot, 0)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

impl EventHub {
    /// Publishes to readers of all sessions, with the session's ID in the data.
    pub fn announce(&self, session: Option<SessionId>, event: &Event) {
        if let Some(session) = session {
            self.tell_peers(session, None, true, event);
        }
        self.push_to_all(session, Arc::new(StreamedEvent::Own(event.clone())));
    }

    pub(super) fn push_to_all(&self, session: Option<SessionId>, event: Arc<StreamedEvent>) {
        let boot = self.boot;
        locked(&self.all)
            .push(|number| StreamEvent { id: EventId::InAll { boot, number, session }, event });
    }

    /// Returns the events of all sessions, after the given event ID or from now on.
    pub fn all_events(&self, last_event_id: Option<&str>) -> Result<AllEvents> {
        let last = match last_event_id {
            None | Some("") => None,
            Some(text) => Some(last_id(text).ok_or_else(|| {
                ServiceError::invalid("Last-Event-ID", "the event ID is not from this stream")
                    .hint("omit the header to receive only new events")
            })?),
        };
        Ok(self.follow_all(last))
    }

    pub fn announce_session(&self, session: SessionId, change: SessionLifecycle) {
        self.announce(Some(session), &Event::Session { change });
    }

    fn follow_all(&self, last: Option<(i64, u64)>) -> AllEvents {
        let told = locked(&self.all);
        let missed = match last {
            None => VecDeque::new(),
            Some((boot, number)) => {
                let known = boot == self.boot && number < told.next;
                told.after(number)
                    .filter(|_| known)
                    .unwrap_or_else(|| VecDeque::from([reset(self.boot, told.next - 1)]))
            }
        };
        let live = told.live.subscribe();
        AllEvents { missed, live, stop: self.stop.clone(), boot: self.boot }
    }
}

/// Returns the event for readers that missed too many events. `newest` is the last event before it, 0 if unknown.
fn reset(boot: i64, newest: u64) -> StreamEvent {
    let id = EventId::InAll { boot, number: newest, session: None };
    StreamEvent { id, event: Arc::new(StreamedEvent::Own(Event::Reset {})) }
}

/// Parses an event ID into boot and number.
fn last_id(text: &str) -> Option<(i64, u64)> {
    let (boot, number) = text.split_once("-all-")?;
    // The number must allow a next one.
    let number = number.parse().ok().filter(|number| *number < u64::MAX)?;
    Some((boot.parse().ok()?, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bethink_transcript::Seq;
    use serde_json::{Value, json};
    use uuid::Uuid;

    fn hub() -> EventHub {
        EventHub::new(7, CancellationToken::new())
    }

    fn tell(hub: &EventHub, number: usize) {
        hub.announce(None, &Event::Todos { items: number });
    }

    async fn numbers(events: &mut AllEvents, count: usize) -> Vec<String> {
        let mut seen = Vec::new();
        for _ in 0..count {
            let event = events.next().await.unwrap();
            let data: Value = serde_json::from_str(&event.data()).unwrap();
            seen.push(format!("{} {}", event.kind(), data["items"]));
        }
        seen
    }

    #[tokio::test]
    async fn who_comes_back_hears_what_it_missed() {
        let hub = hub();
        (0..3).for_each(|n| tell(&hub, n));
        let mut events = hub.follow_all(last_id("7-all-1"));
        tell(&hub, 3);
        assert_eq!(numbers(&mut events, 3).await, ["todos 1", "todos 2", "todos 3"]);
        let mut all = hub.follow_all(last_id("7-all-0"));
        assert_eq!(numbers(&mut all, 4).await, ["todos 0", "todos 1", "todos 2", "todos 3"]);
        let mut fresh = hub.follow_all(None);
        tell(&hub, 4);
        assert_eq!(numbers(&mut fresh, 1).await, ["todos 4"]);
    }

    #[tokio::test]
    async fn who_missed_too_much_starts_again() {
        for lost in ["7-all-0", "7-all-1", "6-all-2000", "7-all-99999999"] {
            let hub = hub();
            (0..KEPT + 2).for_each(|n| tell(&hub, n));
            let mut events = hub.follow_all(Some(last_id(lost).unwrap()));
            let first = events.next().await.unwrap();
            assert_eq!((first.kind(), first.id().as_str()), ("reset", "7-all-2050"), "{lost}");
            tell(&hub, 9);
            assert_eq!(events.next().await.unwrap().kind(), "todos");
            let again = hub.follow_all(last_id(&first.id()));
            assert_eq!(
                again.missed.front().map(StreamEvent::kind),
                Some("todos"),
                "goes on after it"
            );
        }
    }

    #[tokio::test]
    async fn a_slow_reader_is_told_to_start_again() {
        let hub = hub();
        let mut events = hub.follow_all(None);
        (0..KEPT + 10).for_each(|n| tell(&hub, n));
        assert_eq!(events.next().await.unwrap().kind(), "reset");
        assert_eq!(events.next().await.unwrap().kind(), "todos");
    }

    #[test]
    fn each_event_names_its_session() {
        let hub = hub();
        let session = SessionId(Uuid::from_u128(5));
        hub.publish(session, Seq(3), &Event::Todos { items: 3 });
        hub.announce(None, &Event::Reset {});
        let told = locked(&hub.all);
        let data: Vec<Value> =
            told.kept.iter().map(|(_, e)| serde_json::from_str(&e.data()).unwrap()).collect();
        assert_eq!(data[0], json!({ "items": 3, "session_id": session.to_string() }));
        assert_eq!(data[1], json!({ "session_id": null }));
    }

    #[test]
    fn ids_of_elsewhere_are_refused() {
        for id in ["7-1-3", "x-all-1", "7-all-", "7-all-x", "all", "7-all-18446744073709551615"] {
            assert_eq!(last_id(id), None, "{id}");
        }
    }
}
