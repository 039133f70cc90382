//! Events of a session, with resume.
//!
//! An id is `<boot>-<number>-<seq>`: within one run of the daemon missed events come from a ring of the
//! newest; after a restart, or past the ring, the messages after `seq` are told again from history.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bethink_store::SeqRange;
use bethink_transcript::{Seq, SessionId};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::{Daemon, Refusal, Result};

/// Events kept for those who come back.
const RING: usize = 256;
/// Sessions whose events are kept; the one that was quiet longest goes first.
const TOPICS: usize = 256;
/// Messages told again from history at most.
const RETOLD: usize = 1_000;

/// One server-sent event.
#[derive(Clone, Debug)]
pub struct Event {
    pub id: String,
    /// `message`, `compaction`, `job`, or `reset` when missed events can't be told.
    pub kind: &'static str,
    /// JSON, one line.
    pub data: String,
}

/// Events of one session, missed ones first.
#[derive(Debug)]
pub struct Events {
    missed: VecDeque<Event>,
    live: broadcast::Receiver<Event>,
    stop: CancellationToken,
}

impl Events {
    /// `None` when the daemon stops or the session is deleted. A reader that is too slow gets a
    /// `reset` and goes on with what is new.
    pub async fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.missed.pop_front() {
            return Some(event);
        }
        tokio::select! {
            () = self.stop.cancelled() => None,
            event = self.live.recv() => match event {
                Ok(event) => Some(event),
                Err(broadcast::error::RecvError::Lagged(_)) => Some(reset("events came faster than they were read")),
                Err(broadcast::error::RecvError::Closed) => None,
            },
        }
    }
}

fn reset(why: &str) -> Event {
    Event {
        id: String::new(),
        kind: "reset",
        data: serde_json::json!({ "why": why, "do": "read the session again" }).to_string(),
    }
}

#[derive(Debug)]
struct Topic {
    next: u64,
    ring: VecDeque<(u64, Event)>,
    live: broadcast::Sender<Event>,
    touched: u64,
}

/// All topics of this run.
#[derive(Debug)]
pub(crate) struct Hub {
    boot: i64,
    topics: Mutex<(u64, HashMap<SessionId, Topic>)>,
    stop: CancellationToken,
}

impl Hub {
    pub(crate) fn new(boot: i64, stop: CancellationToken) -> Self {
        Self { boot, topics: Mutex::default(), stop }
    }

    fn lock(&self) -> MutexGuard<'_, (u64, HashMap<SessionId, Topic>)> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn publish(
        &self,
        session: SessionId,
        kind: &'static str,
        seq: Seq,
        data: &serde_json::Value,
    ) {
        let mut topics = self.lock();
        let topic = topic(&mut topics, session);
        let number = topic.next;
        topic.next += 1;
        let event =
            Event { id: format!("{}-{number}-{seq}", self.boot), kind, data: data.to_string() };
        topic.ring.push_back((number, event.clone()));
        if topic.ring.len() > RING {
            topic.ring.pop_front();
        }
        // Nobody listening is no error.
        drop(topic.live.send(event));
    }

    pub(crate) fn forget(&self, session: SessionId) {
        self.lock().1.remove(&session);
    }

    /// Subscribes; `Err(seq)` when what came after `last` has to be told from history after `seq`.
    fn subscribe(&self, session: SessionId, last: Option<&LastId>) -> (Events, Option<Seq>) {
        let mut topics = self.lock();
        let topic = topic(&mut topics, session);
        let live = topic.live.subscribe();
        let (mut missed, mut retell) = (VecDeque::new(), None);
        if let Some(last) = last {
            let oldest = topic.ring.front().map_or(topic.next, |(number, _)| *number);
            if last.boot == self.boot && last.number + 1 >= oldest {
                missed = topic
                    .ring
                    .iter()
                    .filter(|(n, _)| *n > last.number)
                    .map(|(_, e)| e.clone())
                    .collect();
            } else {
                retell = Some(last.seq);
            }
        }
        (Events { missed, live, stop: self.stop.clone() }, retell)
    }
}

fn topic(topics: &mut (u64, HashMap<SessionId, Topic>), session: SessionId) -> &mut Topic {
    let (clock, map) = topics;
    *clock += 1;
    if map.len() >= TOPICS && !map.contains_key(&session) {
        let quiet =
            map.iter().filter(|(_, t)| t.live.receiver_count() == 0).min_by_key(|(_, t)| t.touched);
        if let Some(id) = quiet.map(|(id, _)| *id) {
            map.remove(&id);
        }
    }
    let topic = map.entry(session).or_insert_with(|| Topic {
        next: 0,
        ring: VecDeque::new(),
        live: broadcast::channel(RING).0,
        touched: 0,
    });
    topic.touched = *clock;
    topic
}

struct LastId {
    boot: i64,
    number: u64,
    seq: Seq,
}

fn last_id(text: &str) -> Option<LastId> {
    let mut parts = text.split('-');
    let last = LastId {
        boot: parts.next()?.parse().ok()?,
        number: parts.next()?.parse().ok()?,
        seq: Seq(parts.next()?.parse().ok()?),
    };
    parts.next().is_none().then_some(last)
}

impl Daemon {
    pub async fn events(&self, id: SessionId, last_event_id: Option<String>) -> Result<Events> {
        self.store().session(id).await?;
        let last = match last_event_id.as_deref() {
            None | Some("") => None,
            Some(text) => Some(last_id(text).ok_or_else(|| {
                Refusal::invalid("Last-Event-ID", "not an id that this daemon hands out")
                    .hint("leave the header out to hear only what is new")
            })?),
        };
        let (mut events, retell) = self.hub().subscribe(id, last.as_ref());
        if let Some(after) = retell {
            let range = SeqRange { after: Some(after), limit: RETOLD, ..SeqRange::all() };
            for message in self.store().messages(id, range).await? {
                events.missed.push_back(Event {
                    id: format!("0-0-{}", message.seq),
                    kind: "message",
                    data: message_event(message.seq, message.id.as_str(), message.role.as_str())
                        .to_string(),
                });
            }
        }
        Ok(events)
    }
}

pub(crate) fn message_event(seq: Seq, id: &str, role: &str) -> serde_json::Value {
    serde_json::json!({ "seq": seq, "id": id, "role": role })
}
