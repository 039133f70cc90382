//! The index of imported history: made when nobody waits, or by the first search that needs it.

use bethink_store::{IndexBatch, Job, Progress, SeqRange, StoredMessage, Terms};
use bethink_transcript::{Seq, SessionId};
use serde_json::{Value, json};

use crate::hot::parsed;
use crate::messages::terms_of;
use crate::{Daemon, Kind, Refusal, Result, jobs};

/// Work of this module, by the name under which it is leased.
pub(crate) const INDEX: &str = "index";

/// Messages indexed in one transaction: about 20 ms of the writer, so that nobody waits long behind
/// it.
const STRETCH: usize = 128;

impl Daemon {
    /// Leaves the index of these sessions to be made later. The worker that calls is awake.
    pub(crate) async fn index_later(&self, sessions: &[SessionId]) -> Result<()> {
        let ids: Vec<_> = sessions.iter().map(|session| session.0).collect();
        let new = bethink_store::NewJob {
            id: jobs::new_id(),
            kind: INDEX.to_owned(),
            session: sessions.first().copied(),
            payload: json!({ "sessions": ids }).to_string(),
            background: true,
            created_at: self.now(),
        };
        Ok(self.store().enqueue(new).await?)
    }

    pub(crate) async fn run_index(&self, job: &Job) -> Result<Value> {
        let payload = jobs::payload(job)?;
        let ids = payload["sessions"].as_array().cloned().unwrap_or_default();
        let sessions = ids.iter().filter_map(|id| Some(SessionId(id.as_str()?.parse().ok()?)));
        let mut progress = Progress { unit: "messages".to_owned(), ..Progress::default() };
        for session in sessions {
            loop {
                self.run_what_is_waited_for().await;
                match self.index_stretch(session).await {
                    Ok(None) => break,
                    Ok(Some(indexed)) => progress.done += indexed,
                    // Deleted since.
                    Err(refusal) if refusal.kind == Kind::NotFound => break,
                    Err(refusal) => return Err(refusal),
                }
                progress.total = progress.done;
                self.store().heartbeat(job.id, self.lease(), progress.clone()).await?;
            }
        }
        Ok(json!({ "messages": progress.done }))
    }

    /// All of the session can be found after this.
    pub(crate) async fn finish_index(&self, session: SessionId) -> Result<()> {
        while self.index_stretch(session).await?.is_some() {}
        Ok(())
    }

    /// Indexes some messages that are not indexed yet. `None` if there are none.
    async fn index_stretch(&self, session: SessionId) -> Result<Option<u64>> {
        let Some(range) = self.store().unindexed(session).await? else { return Ok(None) };
        let stretch = self.store().messages(session, SeqRange { limit: STRETCH, ..range }).await?;
        let count = stretch.len();
        let through = through(range, &stretch);
        let entries = tokio::task::spawn_blocking(|| stretch.into_iter().map(entry).collect())
            .await
            .map_err(Refusal::internal)?;
        match self.store().index(IndexBatch { session, entries, through }).await {
            Ok(()) => Ok(Some(count as u64)),
            Err(error) => Err(error.into()),
        }
    }
}

/// How far the index reaches with these messages. A recovered session may lack some at the end.
fn through(range: SeqRange, stretch: &[StoredMessage]) -> Seq {
    let end = Seq(range.before.map_or(u64::MAX, |before| before.0.saturating_sub(1)));
    match stretch.last() {
        Some(last) if stretch.len() == STRETCH => last.seq,
        _ => end,
    }
}

fn entry(stored: StoredMessage) -> (Seq, Terms) {
    let seq = stored.seq;
    match parsed(stored) {
        Ok(message) => (seq, terms_of(&message)),
        Err(refusal) => {
            // It stays in the history; only a search passes it by.
            tracing::warn!(%seq, reason = %refusal.detail, "a message could not be indexed");
            (seq, Terms::default())
        }
    }
}
