//! The event stream of a session, which can be resumed.
//!
//! An id is `<boot>-<number>-<seq>`. Within one run of the daemon, missed events come from the hub's ring buffer. After a
//! restart, for older events, or for a slow reader, messages and compactions after `seq` are replayed from history. A
//! `reset` precedes them, because other events are not stored.
//!
//! Appends that run at the same time publish their events in any order. A stream always sends messages in the order of the
//! history: before an event about message `seq`, it sends all messages before that one, reading them from history if their events
//! have not come yet. So a reader that has the event has them all, and can resume after it.

use std::collections::VecDeque;

use bethink_service::{Event, Result, ServiceError, SessionSubscription, StreamEvent, next_batch};
use bethink_store::{SeqRange, StoredMessage};
use bethink_transcript::{Seq, SessionId};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::messages::message_event;
use crate::record::compaction_event;
use crate::service::SessionService;

/// The kind of events about new messages.
const MESSAGE: &str = "message";

/// Events of one session, missed ones first.
#[derive(Debug)]
pub struct SessionEvents {
    sessions: SessionService,
    session: SessionId,
    missed: VecDeque<StreamEvent>,
    live: broadcast::Receiver<StreamEvent>,
    stop: CancellationToken,
    /// The newest message that was sent. All messages before it were sent, too.
    sent: Seq,
    /// All messages up to this one were sent or are in `missed`.
    queued: Seq,
    /// Whether messages after `sent` must be replayed from history first.
    behind: bool,
    /// Whether a compaction made right after message `sent` may have been missed, too.
    may_miss_compaction: bool,
}

impl SessionEvents {
    /// Returns the next event; `None` when the daemon stops, the session is deleted, or its history cannot be read.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some(event) = self.missed.pop_front() {
                let (seq, is_message) = (event.seq(), event.kind() == MESSAGE);
                if is_message && seq <= self.sent {
                    // Already sent from history.
                    continue;
                }
                let needed = if is_message { seq } else { seq.next() };
                if needed > self.queued.next() {
                    self.missed.push_front(event);
                    self.queue_before(needed).await?;
                    self.queued = seq;
                    continue;
                }
                self.sent = self.sent.max(seq);
                self.queued = self.queued.max(seq);
                return Some(event);
            }
            if self.behind {
                self.behind = self.replay().await?;
                continue;
            }
            let event = tokio::select! {
                () = self.stop.cancelled() => return None,
                event = self.live.recv() => event,
            };
            match event {
                Ok(event) => self.missed.push_back(event),
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    (self.behind, self.may_miss_compaction) = (true, true);
                    self.missed.push_back(reset(self.sent));
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Queues the messages after those that are queued and before this one, first. `None` if history cannot be read.
    async fn queue_before(&mut self, seq: Seq) -> Option<()> {
        let store = self.sessions.cx.store();
        let (mut events, mut after) = (VecDeque::new(), self.queued);
        loop {
            let range = SeqRange { before: Some(seq), ..next_batch(after) };
            let batch = store.messages(self.session, range).await.ok()?;
            let Some(last) = batch.last() else { break };
            after = last.seq;
            events.extend(batch.iter().map(of_history));
        }
        events.append(&mut self.missed);
        self.missed = events;
        Some(())
    }

    /// Queues the next part of history and its compactions, and returns whether there is more; `None` if history cannot be
    /// read.
    async fn replay(&mut self) -> Option<bool> {
        let range = next_batch(self.sent);
        let store = self.sessions.cx.store();
        let messages = store.messages(self.session, range).await.ok()?;
        let compactions = store.compactions(self.session).await.ok()?;
        let (first, last) = (self.sent, messages.last().map_or(self.sent, |m| m.seq));
        let made_after = |seq: Seq| {
            let here = compactions.iter().filter(move |compaction| compaction.made_after == seq);
            here.filter_map(move |compaction| match compaction_event(compaction) {
                Ok(event) => Some(StreamEvent::of_history(seq, event)),
                Err(error) => {
                    tracing::warn!(reason = %error.detail, "could not publish a compaction event");
                    None
                }
            })
        };
        if std::mem::take(&mut self.may_miss_compaction) {
            self.missed.extend(made_after(first));
        }
        for message in &messages {
            self.missed.push_back(of_history(message));
            self.missed.extend(made_after(message.seq));
        }
        Some(last > first)
    }
}

fn of_history(message: &StoredMessage) -> StreamEvent {
    let event = message_event(message.seq, &message.id, message.role);
    StreamEvent::of_history(message.seq, event)
}

/// Tells the reader to read again what it shows besides messages and compactions.
fn reset(sent: Seq) -> StreamEvent {
    StreamEvent::of_history(sent, Event::Reset {})
}

/// Parses an event's id: boot and number, and the newest message.
fn last_id(text: &str) -> Option<((i64, u64), Seq)> {
    let (boot, rest) = text.split_once('-')?;
    let (number, seq) = rest.split_once('-')?;
    Some(((boot.parse().ok()?, number.parse().ok()?), Seq(seq.parse().ok()?)))
}

impl SessionService {
    pub async fn events(
        &self,
        id: SessionId,
        last_event_id: Option<String>,
    ) -> Result<SessionEvents> {
        let session = self.cx.store().session(id).await?;
        let last = match last_event_id.as_deref() {
            None | Some("") => None,
            Some(text) => Some(last_id(text).ok_or_else(|| {
                ServiceError::invalid("Last-Event-ID", "the event ID is not from this stream")
                    .hint("omit the header to receive only new events")
            })?),
        };
        let newest = last.map(|(newest, _)| newest);
        let SessionSubscription { mut missed, live, behind, stop } =
            self.cx.hub().subscribe(id, newest);
        let sent = last.map_or(session.last_seq, |(_, seq)| seq);
        if behind {
            missed.push_front(reset(sent));
        }
        let sessions = self.clone();
        let may_miss_compaction = behind;
        Ok(SessionEvents {
            sessions,
            session: id,
            missed,
            live,
            stop,
            sent,
            queued: sent,
            behind,
            may_miss_compaction,
        })
    }
}
