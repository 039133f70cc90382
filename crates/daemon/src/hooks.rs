//! Hooks of coding agents: what an event of a client's session means here.
//!
//! Most events mean that the client's transcript has grown. It is read on from where it was left and stored like any
//! append, so that notes, extraction, recall and the index follow by themselves. Two events are answered: a session's
//! start with what the project remembers, a prompt with the memories that fit it. Nothing is ever blocked or
//! refused to the person at work.
//!
//! An event counts once, by its id. One that is not finished soon is put into the spool before it is answered, so
//! that a daemon that is killed takes it up again at its start, with those that hooks left there while none ran.
//!
//! Reading order: `take` → `spooled` → `session` → `transcript` (a file, read on) → `follow` → `words` (answers) →
//! `told`.

mod follow;
mod session;
mod spooled;
mod take;
mod told;
mod transcript;
mod words;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bethink_config::Home;
use bethink_hooks::Client;
use bethink_spool::Spool;
use tokio::sync::Mutex as AsyncMutex;

use follow::Followed;

/// Space of how far a transcript was read, by session: key its path, value a `Mark`.
const TRANSCRIPT: &str = "hook_transcript";
/// Space of what a client's session was told, by client and id: key `told`, value a `Told`.
const TOLD: &str = "hook_told";
/// Sessions whose transcripts are kept ready to be read on. Each keeps the ids of its lines, some hundred
/// kilobytes for a long one; another is read anew from its beginning, in some tens of milliseconds.
const READY: usize = 16;

/// A client's session, by the client and its own id.
type Who = (Client, String);

/// What the events of all sessions share.
#[derive(Debug)]
pub(crate) struct HookDesk {
    spool: Spool,
    /// One at a time empties the spool, so that what waits there is taken in order.
    delivering: AsyncMutex<()>,
    /// It will be looked into in a moment.
    is_looking: AtomicBool,
    sessions: Mutex<HashMap<Who, Desk>>,
    uses: AtomicU64,
}

#[derive(Debug)]
struct Desk {
    followed: Arc<AsyncMutex<Followed>>,
    used: u64,
}

impl HookDesk {
    pub(crate) fn new(home: &Home) -> Self {
        Self {
            spool: Spool::at(home.hook_spool()),
            delivering: AsyncMutex::default(),
            is_looking: AtomicBool::new(false),
            sessions: Mutex::default(),
            uses: AtomicU64::new(0),
        }
    }

    /// What is known of a client's session; whoever holds it is the only one who takes its events.
    fn followed(&self, who: &Who) -> Arc<AsyncMutex<Followed>> {
        let used = self.uses.fetch_add(1, Ordering::Relaxed);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let desk =
            sessions.entry(who.clone()).or_insert_with(|| Desk { followed: Arc::default(), used });
        desk.used = used;
        let followed = Arc::clone(&desk.followed);
        if sessions.len() > READY {
            let oldest = used.saturating_sub(READY as u64);
            // One that is held is in use, however long ago it was begun.
            sessions.retain(|_, desk| desk.used > oldest || Arc::strong_count(&desk.followed) > 1);
        }
        followed
    }
}
