//! Works together with the other daemons that use the same database: releases sessions that they want, and exchanges events.

use std::time::Duration;

use bethink_store::PeerNews;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::Daemon;

/// Maximum number of events that are sent at once.
const BATCH: usize = 256;

/// How long to wait for more events before sending, because each time all other daemons wake up.
const GATHER_TIME: Duration = Duration::from_millis(50);

impl Daemon {
    /// Starts the exchange, if several daemons may use the database. It ends when the daemon stops.
    pub(crate) fn start_peer_exchange(&self) {
        if self.cx.store().is_shared() {
            let memories = self.memories.clone();
            self.cx.spawn(async move { memories.open_recent_projects().await });
            let daemon = self.clone();
            let stopped = self.cx.stopping().clone().cancelled_owned();
            self.cx.spawn(async move {
                tokio::select! {
                    () = daemon.listen_to_peers() => {}
                    () = stopped => {}
                }
            });
        }
    }

    async fn listen_to_peers(&self) {
        loop {
            match self.cx.store().peer_news().await {
                PeerNews::Joined => {
                    let (daemon, events) = (self.clone(), self.cx.hub().for_peers());
                    self.cx.spawn(async move { daemon.tell_peers(events).await });
                }
                PeerNews::Wanted(session) => self.sessions.release(session),
                PeerNews::Text(event) => self.cx.hub().publish_peer_event(&event),
                PeerNews::Memory(directory) => self.memories.start_syncs(Some(&directory)),
                PeerNews::Sharing => self.team_history.resume_later(),
                PeerNews::Missed => {
                    self.memories.start_syncs(None);
                    self.team_history.resume_later();
                    self.sessions.release_all();
                    self.cx.hub().reset();
                }
            }
        }
    }

    async fn tell_peers(&self, mut events: mpsc::UnboundedReceiver<String>) {
        let (mut batch, stopped) = (Vec::new(), self.cx.stopping().clone());
        while !stopped.is_cancelled() {
            tokio::select! {
                _ = events.recv_many(&mut batch, BATCH) => {}
                () = stopped.cancelled() => {}
            }
            if batch.len() < BATCH {
                drop(timeout(GATHER_TIME, stopped.cancelled()).await);
                let more = std::iter::from_fn(|| events.try_recv().ok());
                batch.extend(more.take(BATCH - batch.len()));
            }
            if batch.is_empty() {
                continue;
            }
            if let Err(error) = self.cx.store().tell_peers(std::mem::take(&mut batch)).await {
                tracing::debug!(%error, "could not send events to other daemons");
            }
        }
    }
}
