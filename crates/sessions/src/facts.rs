//! Facts of a session, under their own lock: neither an append nor a prompt waits for them.
//!
//! They are extended on demand, from messages in memory or else from the store, in batches. Facts belong to the history,
//! not to a view: no compaction and no undo changes them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bethink_facts::Facts;
use bethink_service::{Result, blocking, next_batch, parse_stored};
use bethink_store::SeqRange;
use bethink_transcript::{Message, Seq};

use crate::handle::{FactsGuard, SessionHandle};
use crate::kept_state::KeptState;
use crate::service::SessionService;

impl SessionService {
    /// Returns the facts of a session, at least through message `through`. `at_hand` are consecutive messages in memory,
    /// oldest first, that need not be read from the store.
    pub async fn facts_through(
        &self,
        handle: &SessionHandle,
        through: Seq,
        at_hand: Vec<Arc<Message>>,
    ) -> Result<FactsGuard> {
        let mut facts = Arc::clone(&handle.facts).lock_owned().await;
        let first = at_hand.first().map_or(through.next(), |message| message.seq);
        self.read_stored(handle, &mut facts, first.min(through.next())).await?;
        observe(&mut facts, at_hand).await?;
        self.read_stored(handle, &mut facts, through.next()).await?;
        let session = self.cx.store().session(handle.id).await?;
        if let Some(set) = KeptState::parse(&session.state).todos {
            facts.set_todos(&set.items, set.after);
        }
        handle.facts_weight.store(facts.weight(), Ordering::Relaxed);
        self.inner.registry.count(handle);
        Ok(facts)
    }

    /// Reads messages from the store, up to the one before `end`.
    async fn read_stored(&self, handle: &SessionHandle, facts: &mut Facts, end: Seq) -> Result<()> {
        while facts.through.next() < end {
            let range = SeqRange { before: Some(end), ..next_batch(facts.through) };
            let batch = self.cx.store().messages(handle.id, range).await?;
            if batch.is_empty() {
                // A damaged message leaves a gap that recovery reported.
                return Ok(());
            }
            let messages: Result<Vec<_>> =
                batch.into_iter().map(|stored| Ok(Arc::new(parse_stored(stored)?))).collect();
            observe(facts, messages?).await?;
        }
        Ok(())
    }
}

/// Reads messages on a blocking thread. If the caller is dropped meanwhile, the facts are collected again from the
/// start.
async fn observe(facts: &mut Facts, messages: Vec<Arc<Message>>) -> Result<()> {
    let through = facts.through;
    if messages.last().is_none_or(|message| message.seq <= through) {
        return Ok(());
    }
    let mut reading = std::mem::take(facts);
    let read = move || {
        for message in &messages {
            reading.observe(message);
        }
        Ok(reading)
    };
    *facts = blocking(read).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use bethink_config::Settings;
    use bethink_service::READ_BATCH;
    use bethink_transcript::SessionId;
    use serde_json::{Value, json};

    use super::*;
    use crate::tests::home::SessionsHome;

    fn wishes(count: usize) -> Vec<Value> {
        let wish = |n| json!({ "role": "user", "content": format!("wish number {n}") });
        (0..count).map(wish).collect()
    }

    async fn open(directory: &tempfile::TempDir, messages: usize) -> (SessionsHome, SessionId) {
        let home = SessionsHome::open(Settings::at(directory.path())).await;
        let id = home.session(&wishes(messages)).await;
        (home, id)
    }

    /// Returns the messages of the loaded session from `from` on.
    async fn at_hand(
        home: &SessionsHome,
        handle: &Arc<SessionHandle>,
        from: Seq,
    ) -> Vec<Arc<Message>> {
        let loaded = home.sessions.lock(handle).await.unwrap();
        loaded.state.history.from(from).iter().map(|entry| Arc::clone(&entry.message)).collect()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn facts_are_read_once_from_memory_and_from_the_store() {
        let directory = tempfile::tempdir().unwrap();
        let (home, id) = open(&directory, READ_BATCH + 20).await;
        let sessions = &home.sessions;
        let handle = sessions.handle(id).await.unwrap();
        let facts = sessions.facts_through(&handle, Seq(7), Vec::new()).await.unwrap();
        assert_eq!((facts.through, facts.user.len()), (Seq(7), 7));
        drop(facts);
        // The messages between the facts and the loaded session are read from the store.
        let last = Seq(READ_BATCH as u64 + 20);
        let newest = at_hand(&home, &handle, Seq(last.0 - 3)).await;
        let facts = sessions.facts_through(&handle, last, newest).await.unwrap();
        assert_eq!((facts.through, facts.user.len()), (last, READ_BATCH + 20));
        drop(facts);
        let again = at_hand(&home, &handle, Seq(1)).await;
        let facts = sessions.facts_through(&handle, Seq(3), again).await.unwrap();
        assert_eq!((facts.through, facts.user.len()), (last, READ_BATCH + 20));
        assert!(handle.facts_weight.load(Ordering::Relaxed) > 0);
        drop(facts);
        home.close().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn appends_and_prompts_do_not_wait_for_facts() {
        let directory = tempfile::tempdir().unwrap();
        let (home, id) = open(&directory, 3).await;
        let handle = home.sessions.handle(id).await.unwrap();
        let held = home.sessions.facts_through(&handle, Seq(3), Vec::new()).await.unwrap();
        let work = async {
            home.append(id, &wishes(2)).await;
            home.sessions.prompt(id, bethink_api::ContextRequest::default()).await.unwrap();
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), work).await.unwrap();
        drop(held);
        home.close().await;
    }
}
