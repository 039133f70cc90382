//! Events of a session, with resume.
//!
//! An id is `<boot>-<number>-<seq>`: within one run of the daemon missed events come from a ring of the
//! newest; after a restart, past the ring, or for a reader that is too slow, messages and compactions
//! after `seq` are told again from history.
//!
//! What happens anywhere is told a second time, in `all`.

mod all;

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bethink_store::{Compaction, SeqRange};
use bethink_transcript::{Seq, SessionId};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::{Daemon, Refusal, Result};

pub use all::AllEvents;

/// Events kept for those who come back.
const RING: usize = 256;
/// Sessions whose events are kept; the one that was quiet longest goes first.
const TOPICS: usize = 256;
/// Messages told again from history at a time.
const RETOLD: usize = 1_000;

/// One server-sent event.
#[derive(Clone, Debug)]
pub struct Event {
    pub id: String,
    /// `message`, `context`, `compaction`, `collapse`, `cache`, `notes`, `todos`, `memory`, `proposal`, `recall`,
    /// `model`, `recovery` or `job`; among the events of all sessions `session` and `reset`, too.
    pub kind: &'static str,
    /// JSON, one line.
    pub data: String,
}

/// Events of one session, missed ones first.
#[derive(Debug)]
pub struct Events {
    daemon: Daemon,
    session: SessionId,
    missed: VecDeque<Event>,
    live: broadcast::Receiver<Event>,
    stop: CancellationToken,
    /// Newest message that was told.
    told: Seq,
    /// What came after `told` is told from history first.
    behind: bool,
}

impl Events {
    /// `None` when the daemon stops or the session is deleted. A reader who was away too long, or is
    /// too slow, is told from history what it missed.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.missed.pop_front() {
                self.told = self.told.max(seq_of(&event));
                return Some(event);
            }
            if self.behind {
                self.behind = self.retell().await;
                continue;
            }
            let event = tokio::select! {
                () = self.stop.cancelled() => return None,
                event = self.live.recv() => event,
            };
            match event {
                // Told from history already.
                Ok(event) if event.kind == "message" && seq_of(&event) <= self.told => {}
                Ok(event) => self.missed.push_back(event),
                Err(broadcast::error::RecvError::Lagged(_)) => self.behind = true,
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Puts the next stretch of history, and the compactions in it, in line; whether there is more.
    async fn retell(&mut self) -> bool {
        let range = SeqRange { after: Some(self.told), limit: RETOLD, ..SeqRange::all() };
        let store = self.daemon.store();
        let (Ok(messages), Ok(compactions)) =
            (store.messages(self.session, range).await, store.compactions(self.session).await)
        else {
            return false;
        };
        let (first, last) = (self.told, messages.last().map_or(self.told, |m| m.seq));
        for message in &messages {
            self.missed.push_back(Event {
                id: format!("0-0-{}", message.seq),
                kind: "message",
                data: message_event(message.seq, message.id.as_str(), message.role.as_str())
                    .to_string(),
            });
            let here =
                compactions.iter().filter(|c| c.made_after == message.seq && c.made_after > first);
            self.missed.extend(here.map(|c| Event {
                id: format!("0-0-{}", message.seq),
                kind: "compaction",
                data: compaction_event(c).to_string(),
            }));
        }
        last > first
    }
}

/// The message that an event's id speaks of.
fn seq_of(event: &Event) -> Seq {
    last_id(&event.id).map_or(Seq::ZERO, |id| id.seq)
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
    all: all::All,
    stop: CancellationToken,
}

impl Hub {
    pub(crate) fn new(boot: i64, stop: CancellationToken) -> Self {
        Self { boot, topics: Mutex::default(), all: all::All::default(), stop }
    }

    fn lock(&self) -> MutexGuard<'_, (u64, HashMap<SessionId, Topic>)> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who follow the session, and those who follow all.
    pub(crate) fn publish(
        &self,
        session: SessionId,
        kind: &'static str,
        seq: Seq,
        data: &serde_json::Value,
    ) {
        self.announce(Some(session), kind, data);
        self.publish_in(session, kind, seq, data);
    }

    /// Tells those who follow the session alone: what concerns several sessions is announced once.
    pub(crate) fn publish_in(
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

    fn subscribe(&self, daemon: &Daemon, session: SessionId, last: Option<&LastId>) -> Events {
        let mut topics = self.lock();
        let topic = topic(&mut topics, session);
        let live = topic.live.subscribe();
        let (mut missed, mut behind) = (VecDeque::new(), false);
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
                behind = true;
            }
        }
        let told = last.map_or(Seq::ZERO, |l| l.seq);
        let stop = self.stop.clone();
        Events { daemon: daemon.clone(), session, missed, live, stop, told, behind }
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
        let session = self.store().session(id).await?;
        let last = match last_event_id.as_deref() {
            None | Some("") => None,
            Some(text) => Some(last_id(text).ok_or_else(|| {
                Refusal::invalid("Last-Event-ID", "not an id that this daemon hands out")
                    .hint("leave the header out to hear only what is new")
            })?),
        };
        let mut events = self.hub().subscribe(self, id, last.as_ref());
        if last.is_none() {
            events.told = session.last_seq;
        }
        Ok(events)
    }
}

pub(crate) fn compaction_event(done: &Compaction) -> serde_json::Value {
    serde_json::json!({
        "id": done.id.to_string(), "trigger": done.trigger, "level": done.level,
        "tokens_before": done.tokens_before, "tokens_after": done.tokens_after,
        "fidelity": done.fidelity, "warning": crate::compactions::detail_of(done).warning,
        "undone": done.undone_at.is_some(),
    })
}

pub(crate) fn message_event(seq: Seq, id: &str, role: &str) -> serde_json::Value {
    serde_json::json!({ "seq": seq, "id": id, "role": role })
}
