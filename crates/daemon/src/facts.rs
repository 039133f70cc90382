//! Facts of a session, under a lock of their own: neither an append nor a prompt waits for them.
//!
//! Whoever needs them reads them on from history, from messages that are in memory anyway or else from
//! the store, a stretch at a time. They belong to history and not to a view: no compaction and no undo
//! changes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bethink_facts::Facts;
use bethink_store::SeqRange;
use bethink_transcript::{Message, Seq};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::hot::{STRETCH, Slot, parsed};
use crate::{Daemon, Refusal, Result};

/// Facts as they stand in a slot.
#[derive(Debug, Default)]
pub(crate) struct KeptFacts {
    facts: Arc<Mutex<Facts>>,
    /// Bytes held, readable without the lock.
    weight: AtomicUsize,
}

/// Exclusive use of a session's facts. Taken after the session's own lock, never before it: who holds
/// this one waits for nothing but the store.
pub(crate) type FactsGuard = OwnedMutexGuard<Facts>;

impl KeptFacts {
    pub(crate) fn weight(&self) -> usize {
        self.weight.load(Ordering::Relaxed)
    }
}

impl Daemon {
    /// The facts of a session through message `through` at least; `at_hand` are messages that need not
    /// be read again, without gaps, oldest first.
    pub(crate) async fn facts_through(
        &self,
        slot: &Slot,
        through: Seq,
        at_hand: Vec<Arc<Message>>,
    ) -> Result<FactsGuard> {
        let mut facts = Arc::clone(&slot.facts.facts).lock_owned().await;
        let first = at_hand.first().map_or(through.next(), |message| message.seq);
        self.read_stored(slot, &mut facts, first.min(through.next())).await?;
        observe(&mut facts, at_hand).await?;
        self.read_stored(slot, &mut facts, through.next()).await?;
        slot.facts.weight.store(facts.weight(), Ordering::Relaxed);
        Ok(facts)
    }

    /// Reads on in the store, to the message before `end`.
    async fn read_stored(&self, slot: &Slot, facts: &mut Facts, end: Seq) -> Result<()> {
        while facts.through().next() < end {
            let after = Some(facts.through());
            let range = SeqRange { after, before: Some(end), limit: STRETCH, newest: false };
            let stretch = self.store().messages(slot.id, range).await?;
            if stretch.is_empty() {
                // A damaged message leaves a gap that recovery reported.
                return Ok(());
            }
            let messages: Result<Vec<_>> =
                stretch.into_iter().map(|stored| Ok(Arc::new(parsed(stored)?))).collect();
            observe(facts, messages?).await?;
        }
        Ok(())
    }
}

/// Reads messages on a thread that may compute. A caller that goes away meanwhile leaves facts that
/// begin anew.
async fn observe(facts: &mut Facts, messages: Vec<Arc<Message>>) -> Result<()> {
    let through = facts.through();
    if messages.last().is_none_or(|message| message.seq <= through) {
        return Ok(());
    }
    let mut reading = std::mem::take(facts);
    let read = move || {
        for message in &messages {
            reading.observe(message);
        }
        reading
    };
    *facts = tokio::task::spawn_blocking(read).await.map_err(Refusal::internal)?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use bethink_config::Settings;
    use bethink_transcript::SessionId;
    use serde_json::json;

    use super::*;

    async fn session(daemon: &Daemon, messages: u64) -> SessionId {
        let request = serde_json::from_value(json!({ "project_dir": "/project" })).unwrap();
        let id = SessionId(daemon.create_session(request, None).await.unwrap().id);
        say(daemon, id, messages).await;
        id
    }

    async fn say(daemon: &Daemon, id: SessionId, messages: u64) {
        let messages: Vec<_> = (0..messages)
            .map(|n| json!({ "role": "user", "content": format!("wish number {n}") }))
            .collect();
        let body = json!({ "messages": messages }).to_string();
        daemon.append(id, body.into(), None).await.unwrap();
    }

    /// Messages of the hot session from `from` on.
    async fn at_hand(daemon: &Daemon, slot: &Slot, from: Seq) -> Vec<Arc<Message>> {
        let hot = slot.lock(daemon).await.unwrap();
        hot.history.from(from).iter().map(|entry| Arc::clone(&entry.message)).collect()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn facts_are_read_once_from_memory_and_from_the_store() {
        let home = tempfile::tempdir().unwrap();
        let daemon = Daemon::boot(Settings::at(home.path())).await.unwrap();
        let id = session(&daemon, STRETCH as u64 + 20).await;
        let slot = daemon.hot(id).await.unwrap();
        let facts = daemon.facts_through(&slot, Seq(7), Vec::new()).await.unwrap();
        assert_eq!((facts.through(), facts.user.len()), (Seq(7), 7));
        drop(facts);
        // What lies between the facts and the messages at hand comes from the store.
        let last = Seq(STRETCH as u64 + 20);
        let newest = at_hand(&daemon, &slot, Seq(last.0 - 3)).await;
        let facts = daemon.facts_through(&slot, last, newest).await.unwrap();
        assert_eq!((facts.through(), facts.user.len()), (last, STRETCH + 20));
        drop(facts);
        let again = at_hand(&daemon, &slot, Seq(1)).await;
        let facts = daemon.facts_through(&slot, Seq(3), again).await.unwrap();
        assert_eq!((facts.through(), facts.user.len()), (last, STRETCH + 20));
        assert!(slot.facts.weight() > 0);
        drop(facts);
        daemon.shutdown().await;
    }

    /// Facts that are being read hold up neither an append nor a prompt.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nobody_waits_for_facts() {
        let home = tempfile::tempdir().unwrap();
        let daemon = Daemon::boot(Settings::at(home.path())).await.unwrap();
        let id = session(&daemon, 3).await;
        let slot = daemon.hot(id).await.unwrap();
        let held = daemon.facts_through(&slot, Seq(3), Vec::new()).await.unwrap();
        let work = async {
            say(&daemon, id, 2).await;
            daemon.context(id, bethink_api::ContextRequest::default()).await.unwrap();
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), work).await.unwrap();
        drop(held);
        daemon.shutdown().await;
    }
}
