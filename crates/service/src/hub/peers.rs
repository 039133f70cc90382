//! Events of sessions on their way to and from other daemons that use the same database.

use std::sync::Arc;

use bethink_store::MAX_PEER_TEXT;
use bethink_transcript::{Seq, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{EventHub, StreamedEvent};
use crate::event::Event;
use crate::locked;

/// An event as daemons send it to each other.
#[derive(Debug, Serialize, Deserialize)]
struct PeerEvent {
    session: SessionId,
    /// The newest message that the event is about; `None` if the session's own stream does not have the event.
    seq: Option<Seq>,
    /// Whether the stream of all sessions has the event.
    all: bool,
    kind: String,
    data: Map<String, Value>,
}

impl EventHub {
    /// Returns a receiver of all further events of sessions, as text for other daemons. Only the first call has an effect.
    pub fn for_peers(&self) -> mpsc::UnboundedReceiver<String> {
        let (sender, receiver) = mpsc::unbounded_channel();
        drop(self.peers.set(sender));
        receiver
    }

    pub(super) fn tell_peers(
        &self,
        session: SessionId,
        seq: Option<Seq>,
        all: bool,
        event: &Event,
    ) {
        let Some(peers) = self.peers.get() else { return };
        let (kind, data) = (event.kind().to_owned(), event.data());
        let whole = PeerEvent { session, seq, all, kind, data };
        let text = serde_json::to_string(&whole).unwrap_or_default();
        let text = match text.len() <= MAX_PEER_TEXT {
            true => text,
            false => {
                let reset = Event::Reset {};
                let kind = reset.kind().to_owned();
                let short = PeerEvent { kind, data: reset.data(), ..whole };
                serde_json::to_string(&short).unwrap_or_default()
            }
        };
        // It fails only when the daemon is stopping.
        drop(peers.send(text));
    }

    /// Publishes an event that another daemon sent.
    pub fn publish_peer_event(&self, text: &str) {
        let Ok(PeerEvent { session, seq, all, kind, data }) = serde_json::from_str(text) else {
            tracing::debug!("ignored an event of another daemon that could not be read");
            return;
        };
        let event = Arc::new(StreamedEvent::OfPeer { kind, data });
        if let Some(seq) = seq {
            self.push(session, seq, Arc::clone(&event));
        }
        if all {
            self.push_to_all(Some(session), event);
        }
    }

    /// Tells all readers to read everything again, because events of other daemons may have been lost.
    pub fn reset(&self) {
        let ids: Vec<SessionId> = locked(&self.topics).1.keys().copied().collect();
        let event = Arc::new(StreamedEvent::Own(Event::Reset {}));
        for id in ids {
            self.push(id, Seq::ZERO, Arc::clone(&event));
        }
        self.push_to_all(None, event);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio_util::sync::CancellationToken;
    use uuid::Uuid;

    use super::*;

    const SESSION: SessionId = SessionId(Uuid::from_u128(5));

    fn hub() -> EventHub {
        EventHub::new(7, CancellationToken::new())
    }

    #[tokio::test]
    async fn an_event_arrives_at_another_daemon() {
        let (here, there) = (hub(), hub());
        let mut sent = here.for_peers();
        let mut in_session = there.subscribe(SESSION, None);
        let mut in_all = there.all_events(None).unwrap();
        here.publish(SESSION, Seq(3), &Event::Todos { items: 2 });
        here.announce(None, &Event::Todos { items: 9 });
        there.publish_peer_event(&sent.recv().await.unwrap());
        assert!(sent.try_recv().is_err(), "events of no session stay at home");
        let told = in_session.live.recv().await.unwrap();
        assert_eq!(
            (told.kind(), told.seq(), told.data()),
            ("todos", Seq(3), r#"{"items":2}"#.into())
        );
        let told: Value = serde_json::from_str(&in_all.next().await.unwrap().data()).unwrap();
        assert_eq!(told, json!({ "items": 2, "session_id": SESSION.to_string() }));
    }

    #[tokio::test]
    async fn an_event_that_is_too_large_becomes_a_reset() {
        let (here, there) = (hub(), hub());
        let mut sent = here.for_peers();
        let mut in_session = there.subscribe(SESSION, None);
        let id = "x".repeat(MAX_PEER_TEXT);
        here.publish(SESSION, Seq(3), &Event::Message { seq: Seq(3), id, role: "user" });
        let text = sent.recv().await.unwrap();
        assert!(text.len() <= MAX_PEER_TEXT, "{}", text.len());
        there.publish_peer_event(&text);
        there.publish_peer_event("not an event");
        assert_eq!(in_session.live.recv().await.unwrap().kind(), "reset");
    }
}
