//! The event hub: publishes events to followers of one session or of all sessions.
//!
//! An id in a session's stream is `<boot>-<number>-<seq>`; in the stream of all sessions it is `<boot>-all-<number>`,
//! numbered from 1. A ring buffer holds the newest events, for readers that reconnect. Older events of a session are
//! read from its history (by the sessions service); a reader of all sessions gets a `reset` instead.

mod all;
mod peers;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock};

use bethink_transcript::{Seq, SessionId};
use serde_json::{Map, Value};
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;

use crate::event::Event;
use crate::locked;

pub use all::AllEvents;

/// Number of events kept per session for readers that reconnect.
const RING: usize = 256;
/// Maximum number of sessions whose events are kept. The least recently used one without readers is dropped first.
const TOPICS: usize = 256;

/// An event in a stream. It becomes text only when a reader receives it.
#[derive(Clone, Debug)]
pub struct StreamEvent {
    id: EventId,
    event: Arc<StreamedEvent>,
}

/// An event of this daemon, or one that another daemon sent.
#[derive(Debug)]
enum StreamedEvent {
    Own(Event),
    OfPeer { kind: String, data: Map<String, Value> },
}

#[derive(Clone, Copy, Debug)]
enum EventId {
    /// In the stream of a session: the start of the daemon, the event's number, and the newest message that it is about.
    InSession { boot: i64, number: u64, seq: Seq },
    /// In the stream of all sessions, where each event names its session.
    InAll { boot: i64, number: u64, session: Option<SessionId> },
}

impl StreamEvent {
    /// Returns an event of a session that was read from its history. It has no number.
    pub fn of_history(seq: Seq, event: Event) -> Self {
        Self {
            id: EventId::InSession { boot: 0, number: 0, seq },
            event: Arc::new(StreamedEvent::Own(event)),
        }
    }

    pub fn id(&self) -> String {
        match self.id {
            EventId::InSession { boot, number, seq } => format!("{boot}-{number}-{seq}"),
            EventId::InAll { boot, number, .. } => format!("{boot}-all-{number}"),
        }
    }

    pub fn kind(&self) -> &str {
        match &*self.event {
            StreamedEvent::Own(event) => event.kind(),
            StreamedEvent::OfPeer { kind, .. } => kind,
        }
    }

    /// Returns JSON on one line.
    pub fn data(&self) -> String {
        let mut data = match &*self.event {
            StreamedEvent::Own(event) => event.data(),
            StreamedEvent::OfPeer { data, .. } => data.clone(),
        };
        if let EventId::InAll { session, .. } = self.id {
            data.insert("session_id".to_owned(), session.map(|id| id.to_string()).into());
        }
        Value::Object(data).to_string()
    }

    /// Returns the newest message that the event is about, or zero.
    pub fn seq(&self) -> Seq {
        match self.id {
            EventId::InSession { seq, .. } => seq,
            EventId::InAll { .. } => Seq::ZERO,
        }
    }
}

/// The live events of one session, and the missed events that the ring still holds.
#[derive(Debug)]
pub struct SessionSubscription {
    pub missed: VecDeque<StreamEvent>,
    pub live: broadcast::Receiver<StreamEvent>,
    /// Whether the ring no longer held all missed events.
    pub behind: bool,
    pub stop: CancellationToken,
}

/// Sends numbered events to current readers, and keeps the newest ones for readers that reconnect.
#[derive(Debug)]
struct Ring {
    /// Number of the next event.
    next: u64,
    most: usize,
    kept: VecDeque<(u64, StreamEvent)>,
    live: broadcast::Sender<StreamEvent>,
}

impl Ring {
    fn new(first: u64, most: usize) -> Self {
        Self { next: first, most, kept: VecDeque::new(), live: broadcast::channel(most).0 }
    }

    fn push(&mut self, event: impl FnOnce(u64) -> StreamEvent) {
        let event = event(self.next);
        self.kept.push_back((self.next, event.clone()));
        self.next += 1;
        if self.kept.len() > self.most {
            self.kept.pop_front();
        }
        // It is not an error if nobody listens.
        drop(self.live.send(event));
    }

    /// Returns the events after `last`; `None` if not all of them are kept.
    fn after(&self, last: u64) -> Option<VecDeque<StreamEvent>> {
        let oldest = self.kept.front().map_or(self.next, |(number, _)| *number);
        let newer = self.kept.iter().filter(|(number, _)| *number > last);
        (last.saturating_add(1) >= oldest).then(|| newer.map(|(_, event)| event.clone()).collect())
    }
}

#[derive(Debug)]
struct TopicRing {
    ring: Ring,
    touched: u64,
}

/// Publishes the events of all sessions.
#[derive(Debug)]
pub struct EventHub {
    boot: i64,
    topics: Mutex<(u64, HashMap<SessionId, TopicRing>)>,
    /// Events of all sessions.
    all: Mutex<Ring>,
    /// Where events for other daemons go, if there are any.
    peers: OnceLock<mpsc::UnboundedSender<String>>,
    stop: CancellationToken,
}

impl EventHub {
    pub(crate) fn new(boot: i64, stop: CancellationToken) -> Self {
        let all = Mutex::new(Ring::new(1, all::KEPT));
        Self { boot, topics: Mutex::default(), all, peers: OnceLock::new(), stop }
    }

    /// Publishes to followers of the session and of all sessions. `seq` is the newest message that the event is about,
    /// or zero.
    pub fn publish(&self, session: SessionId, seq: Seq, event: &Event) {
        self.tell_peers(session, Some(seq), true, event);
        let event = Arc::new(StreamedEvent::Own(event.clone()));
        self.push(session, seq, Arc::clone(&event));
        self.push_to_all(Some(session), event);
    }

    /// Publishes only to followers of the session. Meant for an event about several sessions, which the caller
    /// announces once.
    pub fn publish_in_session(&self, session: SessionId, seq: Seq, event: &Event) {
        self.tell_peers(session, Some(seq), false, event);
        self.push(session, seq, Arc::new(StreamedEvent::Own(event.clone())));
    }

    fn push(&self, session: SessionId, seq: Seq, event: Arc<StreamedEvent>) {
        let boot = self.boot;
        let mut topics = locked(&self.topics);
        topic(&mut topics, session)
            .ring
            .push(|number| StreamEvent { id: EventId::InSession { boot, number, seq }, event });
    }

    pub fn forget(&self, session: SessionId) {
        locked(&self.topics).1.remove(&session);
    }

    /// Subscribes to a session. `last` is the boot and number of the last event that the reader has.
    pub fn subscribe(&self, session: SessionId, last: Option<(i64, u64)>) -> SessionSubscription {
        let mut topics = locked(&self.topics);
        let ring = &topic(&mut topics, session).ring;
        let live = ring.live.subscribe();
        let (missed, behind) = match last {
            None => (VecDeque::new(), false),
            Some((boot, last)) => match ring.after(last).filter(|_| boot == self.boot) {
                Some(missed) => (missed, false),
                None => (VecDeque::new(), true),
            },
        };
        SessionSubscription { missed, live, behind, stop: self.stop.clone() }
    }
}

fn topic(topics: &mut (u64, HashMap<SessionId, TopicRing>), session: SessionId) -> &mut TopicRing {
    let (clock, map) = topics;
    *clock += 1;
    if map.len() >= TOPICS && !map.contains_key(&session) {
        let quiet = map
            .iter()
            .filter(|(_, t)| t.ring.live.receiver_count() == 0)
            .min_by_key(|(_, t)| t.touched);
        if let Some(id) = quiet.map(|(id, _)| *id) {
            map.remove(&id);
        }
    }
    let topic =
        map.entry(session).or_insert_with(|| TopicRing { ring: Ring::new(0, RING), touched: 0 });
    topic.touched = *clock;
    topic
}
