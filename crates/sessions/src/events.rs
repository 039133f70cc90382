//! The event stream of a session, which can be resumed.
//!
//! An id is `<boot>-<number>-<seq>`. Within one run of the daemon, missed events come from the hub's ring buffer. After a
//! restart, for older events, or for a slow reader, messages and compactions after `seq` are replayed from history. A
//! `reset` precedes them, because other events are not stored.

use std::collections::VecDeque;

use bethink_service::{Event, Result, ServiceError, SessionSubscription, StreamEvent, next_batch};
use bethink_transcript::{Seq, SessionId};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::messages::message_event;
use crate::record::compaction_event;
use crate::service::SessionService;

/// Events of one session, missed ones first.
#[derive(Debug)]
pub struct SessionEvents {
    sessions: SessionService,
    session: SessionId,
    missed: VecDeque<StreamEvent>,
    live: broadcast::Receiver<StreamEvent>,
    stop: CancellationToken,
    /// The newest message that was sent.
    sent: Seq,
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
                self.sent = self.sent.max(event.seq());
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
                // Already replayed from history.
                Ok(event) if event.kind() == "message" && event.seq() <= self.sent => {}
                Ok(event) => self.missed.push_back(event),
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    (self.behind, self.may_miss_compaction) = (true, true);
                    self.missed.push_back(reset(self.sent));
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
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
            let event = message_event(message.seq, &message.id, message.role);
            self.missed.push_back(StreamEvent::of_history(message.seq, event));
            self.missed.extend(made_after(message.seq));
        }
        Some(last > first)
    }
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
            behind,
            may_miss_compaction,
        })
    }
}
