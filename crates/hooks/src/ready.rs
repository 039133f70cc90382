//! Sessions whose transcripts are kept in memory.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bethink_hook_events::{Delivery, HookClient};
use bethink_service::locked;
use tokio::sync::Mutex as AsyncMutex;

use crate::transcript::Tail;

/// Maximum number of sessions whose transcripts are kept in memory, with the IDs of their lines. A long transcript
/// takes a few hundred kilobytes. Other transcripts are read again from the start, which takes tens of milliseconds.
const READY: usize = 16;

/// A client's session: the client and its session id.
pub(crate) type Who = (HookClient, String);

pub(crate) fn who(delivery: &Delivery) -> Option<Who> {
    Some((delivery.client, delivery.input.session_id.clone()?))
}

/// The transcripts of a client's session, each with the position up to which it was read.
pub(crate) type Tails = HashMap<PathBuf, Tail>;

#[derive(Debug, Default)]
pub(crate) struct ReadySessions {
    sessions: Mutex<HashMap<Who, ReadySession>>,
    uses: AtomicU64,
}

#[derive(Debug)]
struct ReadySession {
    tails: Arc<AsyncMutex<Tails>>,
    used: u64,
}

impl ReadySessions {
    /// Returns the transcripts of a client's session. Only the holder of the lock handles the session's events.
    pub(crate) fn tails(&self, who: &Who) -> Arc<AsyncMutex<Tails>> {
        let used = self.uses.fetch_add(1, Ordering::Relaxed);
        let mut sessions = locked(&self.sessions);
        let ready = sessions
            .entry(who.clone())
            .or_insert_with(|| ReadySession { tails: Arc::default(), used });
        ready.used = used;
        let tails = Arc::clone(&ready.tails);
        if sessions.len() > READY {
            let oldest = used.saturating_sub(READY as u64);
            // A session is also kept while its events are being handled.
            sessions.retain(|_, ready| ready.used > oldest || Arc::strong_count(&ready.tails) > 1);
        }
        tails
    }
}
