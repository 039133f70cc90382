//! What happens in all sessions, as one stream.
//!
//! An id is `<boot>-all-<number>`, numbered from 1. Missed events come from a ring; there is no history behind it, so who missed
//! more is told to read what it shows again.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bethink_transcript::{Seq, SessionId};
use serde_json::Value;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::{Event, Hub};
use crate::{Daemon, Refusal, Result};

/// Events kept for those who come back: some minutes of several busy sessions.
const RING: usize = 2_048;

#[derive(Debug)]
pub(super) struct All(Mutex<Told>);

#[derive(Debug)]
struct Told {
    /// Number of the newest event; 0 before the first.
    newest: u64,
    ring: VecDeque<(u64, Event)>,
    live: broadcast::Sender<Event>,
}

impl Default for All {
    fn default() -> Self {
        let live = broadcast::channel(RING).0;
        Self(Mutex::new(Told { newest: 0, ring: VecDeque::new(), live }))
    }
}

impl All {
    fn lock(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Events of all sessions, missed ones first.
#[derive(Debug)]
pub struct AllEvents {
    missed: VecDeque<Event>,
    live: broadcast::Receiver<Event>,
    stop: CancellationToken,
    boot: i64,
}

impl AllEvents {
    /// `None` when the daemon stops.
    pub async fn next(&mut self) -> Option<Event> {
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

impl Hub {
    /// Tells those who listen to everything. `data` is an object; its session is added.
    pub(crate) fn announce(&self, session: Option<SessionId>, kind: &'static str, data: &Value) {
        let mut data = data.clone();
        if let Some(object) = data.as_object_mut() {
            object.insert("session_id".to_owned(), session.map(|id| id.to_string()).into());
        }
        let mut told = self.all.lock();
        told.newest += 1;
        let number = told.newest;
        let event =
            Event { id: format!("{}-all-{number}", self.boot), kind, data: data.to_string() };
        told.ring.push_back((number, event.clone()));
        if told.ring.len() > RING {
            told.ring.pop_front();
        }
        // Nobody listening is no error.
        drop(told.live.send(event));
    }

    fn follow_all(&self, last: Option<(i64, u64)>) -> AllEvents {
        let told = self.all.lock();
        let oldest = told.ring.front().map_or(told.newest + 1, |(number, _)| *number);
        let missed = match last {
            None => VecDeque::new(),
            Some((boot, number))
                if boot == self.boot && (oldest..=told.newest + 1).contains(&(number + 1)) =>
            {
                let newer = told.ring.iter().filter(|(n, _)| *n > number);
                newer.map(|(_, event)| event.clone()).collect()
            }
            Some(_) => VecDeque::from([reset(self.boot, told.newest)]),
        };
        let live = told.live.subscribe();
        AllEvents { missed, live, stop: self.stop.clone(), boot: self.boot }
    }
}

/// Too much was missed. `newest` is the last event before it; 0 where that is not known.
fn reset(boot: i64, newest: u64) -> Event {
    let data = serde_json::json!({ "session_id": null }).to_string();
    Event { id: format!("{boot}-all-{newest}"), kind: "reset", data }
}

impl Daemon {
    /// Events of all sessions: those after an id that was handed out, or from now on.
    pub fn all_events(&self, last_event_id: Option<&str>) -> Result<AllEvents> {
        let last = match last_event_id {
            None | Some("") => None,
            Some(text) => Some(last_id(text).ok_or_else(|| {
                Refusal::invalid("Last-Event-ID", "not an id that this stream hands out")
                    .hint("leave the header out to hear only what is new")
            })?),
        };
        Ok(self.hub().follow_all(last))
    }

    /// Tells what happened: those who follow the session, where it is one's, and those who follow all.
    pub(crate) fn tell(&self, session: Option<SessionId>, kind: &'static str, data: &Value) {
        match session {
            Some(session) => self.hub().publish(session, kind, Seq::ZERO, data),
            None => self.hub().announce(None, kind, data),
        }
    }

    /// A session was `created`, `changed` or `deleted`; told to those who follow all.
    pub(crate) fn tell_session(&self, session: SessionId, change: &'static str) {
        self.hub().announce(Some(session), "session", &serde_json::json!({ "change": change }));
    }
}

/// Run and number.
fn last_id(text: &str) -> Option<(i64, u64)> {
    let (boot, number) = text.split_once("-all-")?;
    // A number is counted on.
    let number = number.parse().ok().filter(|number| *number < u64::MAX)?;
    Some((boot.parse().ok()?, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use uuid::Uuid;

    fn hub() -> Hub {
        Hub::new(7, CancellationToken::new())
    }

    fn tell(hub: &Hub, number: usize) {
        hub.announce(None, "job", &json!({ "number": number }));
    }

    async fn numbers(events: &mut AllEvents, count: usize) -> Vec<String> {
        let mut seen = Vec::new();
        for _ in 0..count {
            let event = events.next().await.unwrap();
            let data: Value = serde_json::from_str(&event.data).unwrap();
            seen.push(format!("{} {}", event.kind, data["number"]));
        }
        seen
    }

    #[tokio::test]
    async fn who_comes_back_hears_what_it_missed() {
        let hub = hub();
        (0..3).for_each(|n| tell(&hub, n));
        let mut events = hub.follow_all(last_id("7-all-1"));
        tell(&hub, 3);
        assert_eq!(numbers(&mut events, 3).await, ["job 1", "job 2", "job 3"]);
        let mut all = hub.follow_all(last_id("7-all-0"));
        assert_eq!(numbers(&mut all, 4).await, ["job 0", "job 1", "job 2", "job 3"]);
        let mut fresh = hub.follow_all(None);
        tell(&hub, 4);
        assert_eq!(numbers(&mut fresh, 1).await, ["job 4"]);
    }

    #[tokio::test]
    async fn who_missed_too_much_starts_again() {
        for lost in ["7-all-0", "7-all-1", "6-all-2000", "7-all-99999999"] {
            let hub = hub();
            (0..RING + 2).for_each(|n| tell(&hub, n));
            let mut events = hub.follow_all(Some(last_id(lost).unwrap()));
            let first = events.next().await.unwrap();
            assert_eq!((first.kind, first.id.as_str()), ("reset", "7-all-2050"), "{lost}");
            tell(&hub, 9);
            assert_eq!(events.next().await.unwrap().kind, "job");
            let again = hub.follow_all(last_id(&first.id));
            assert_eq!(
                again.missed.front().map(|event| event.kind),
                Some("job"),
                "goes on after it"
            );
        }
    }

    #[tokio::test]
    async fn a_slow_reader_is_told_to_start_again() {
        let hub = hub();
        let mut events = hub.follow_all(None);
        (0..RING + 10).for_each(|n| tell(&hub, n));
        assert_eq!(events.next().await.unwrap().kind, "reset");
        assert_eq!(events.next().await.unwrap().kind, "job");
    }

    #[test]
    fn each_event_names_its_session() {
        let hub = hub();
        let session = SessionId(Uuid::from_u128(5));
        hub.publish(session, "message", Seq(3), &json!({ "seq": 3 }));
        hub.announce(None, "job", &json!({}));
        let told = hub.all.lock();
        let data: Vec<Value> =
            told.ring.iter().map(|(_, e)| serde_json::from_str(&e.data).unwrap()).collect();
        assert_eq!(data[0], json!({ "seq": 3, "session_id": session.to_string() }));
        assert_eq!(data[1], json!({ "session_id": null }));
    }

    #[test]
    fn ids_of_elsewhere_are_refused() {
        for id in ["7-1-3", "x-all-1", "7-all-", "7-all-x", "all", "7-all-18446744073709551615"] {
            assert_eq!(last_id(id), None, "{id}");
        }
    }
}
