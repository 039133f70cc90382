//! The index of history: made when nobody waits, or by the first search that needs it. An append only
//! marks what the index lacks, for the terms of a message cost several times what its commit does.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bethink_api as api;
use bethink_store::{
    IndexBatch, Job, NewJob, Progress, SeqRange, StoreError, StoredMessage, Terms,
};
use bethink_transcript::{JobId, Message, Seq, SessionId};
use serde_json::{Value, json};

use crate::hot::parsed;
use crate::{Daemon, Kind, Refusal, Result, jobs};

/// Work of this module, by the name under which it is leased.
pub(crate) const INDEX: &str = "index";

/// Messages indexed in one transaction: about 20 ms of the writer, so that nobody waits long behind
/// it.
const STRETCH: usize = 128;
/// A session that passes a multiple of so many messages is indexed when nobody waits: what is left to
/// a search then takes about 10 ms.
pub(crate) const UNINDEXED: u64 = 64;

/// Sessions that one start leaves to be indexed; a search finishes the rest as it needs them.
const MOST_LAGGING: usize = 10_000;

/// What tells when to index.
#[derive(Debug, Default)]
pub(crate) struct Queued {
    /// Sessions whose index is asked for and not begun.
    sessions: Mutex<HashSet<SessionId>>,
    /// Appends since the start: while it grows, it is not quiet.
    appends: AtomicU64,
}

impl Queued {
    fn insert(&self, session: SessionId) -> bool {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).insert(session)
    }

    fn remove(&self, session: SessionId) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
    }
}

impl Daemon {
    /// Leaves the index of these sessions to be made later. The worker that calls is awake.
    pub(crate) async fn index_later(&self, sessions: &[SessionId]) -> Result<()> {
        Ok(self.store().enqueue(self.index_job(jobs::new_id(), sessions)).await?)
    }

    fn index_job(&self, id: JobId, sessions: &[SessionId]) -> NewJob {
        let ids: Vec<_> = sessions.iter().map(|session| session.0).collect();
        NewJob {
            id,
            kind: INDEX.to_owned(),
            session: sessions.first().copied(),
            payload: json!({ "sessions": ids }).to_string(),
            background: true,
            created_at: self.now(),
        }
    }

    /// Leaves the index of a session to be made when it is quiet, unless that is asked for already. The
    /// caller does not wait, and loses nothing if it fails: a search finishes what is missing.
    pub(crate) fn index_soon(&self, session: SessionId) {
        if !self.inner.to_index.insert(session) {
            return;
        }
        let daemon = self.clone();
        self.spawn(async move {
            if let Err(refusal) = daemon.index_later(&[session]).await {
                tracing::debug!(%session, reason = %refusal.detail, "the index is left to a search");
                daemon.inner.to_index.remove(session);
            }
            daemon.wake_worker();
        });
    }

    pub(crate) fn note_append(&self) {
        self.inner.to_index.appends.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn appends(&self) -> u64 {
        self.inner.to_index.appends.load(Ordering::Relaxed)
    }

    pub(crate) async fn run_index(&self, job: &Job) -> Result<Value> {
        let payload = jobs::payload(job)?;
        let ids = payload["sessions"].as_array().cloned().unwrap_or_default();
        let sessions = ids.iter().filter_map(|id| Some(SessionId(id.as_str()?.parse().ok()?)));
        let mut progress = Progress { unit: "messages".to_owned(), ..Progress::default() };
        for session in sessions {
            self.inner.to_index.remove(session);
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
        while self.store().tidy().await? {
            self.run_what_is_waited_for().await;
            self.store().heartbeat(job.id, self.lease(), progress.clone()).await?;
        }
        Ok(json!({ "messages": progress.done }))
    }

    /// Leaves the index of sessions to be made that the last daemon left behind: all of them after a
    /// recovery, or when the index has a new shape.
    pub(crate) async fn index_what_lags(&self) -> std::result::Result<(), StoreError> {
        let lagging = self.store().lagging(MOST_LAGGING).await?;
        if lagging.is_empty() {
            return Ok(());
        }
        self.store().enqueue(self.index_job(jobs::new_id(), &lagging)).await
    }

    /// Makes the index of these sessions anew, from their history.
    pub async fn rebuild_index(&self, sessions: &[SessionId]) -> Result<api::Job> {
        for session in sessions {
            self.store().reindex(*session).await?;
        }
        let id = jobs::new_id();
        self.store().enqueue(self.index_job(id, sessions)).await?;
        self.wake_worker();
        self.job(id).await
    }

    /// Has the pieces of the index put together when nobody waits, unless that is asked for already.
    fn tidy_soon(&self) {
        // An id that no session has stands for the index as a whole.
        self.index_soon(SessionId(uuid::Uuid::nil()));
    }

    /// Indexes some messages that are not indexed yet. `None` if there are none.
    pub(crate) async fn index_stretch(&self, session: SessionId) -> Result<Option<u64>> {
        let Some(range) = self.store().unindexed(session).await? else { return Ok(None) };
        let stretch = self.store().messages(session, SeqRange { limit: STRETCH, ..range }).await?;
        let count = stretch.len() as u64;
        let through = through(range, &stretch);
        let before = range.after.map(|seq| (session, seq));
        let before = self.store().messages_at(before.into_iter().collect()).await?;
        let before = before.into_iter().map(|(_, stored)| stored).next();
        let entries = tokio::task::spawn_blocking(|| entries(before, stretch))
            .await
            .map_err(Refusal::internal)?;
        if self.store().index(IndexBatch { session, entries, through }).await? {
            self.tidy_soon();
        }
        Ok(Some(count))
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

/// Terms of a stretch, each message seen after the one before it.
fn entries(before: Option<StoredMessage>, stretch: Vec<StoredMessage>) -> Vec<(Seq, Terms)> {
    let mut before = before.and_then(|stored| parsed(stored).ok());
    let mut entries = Vec::with_capacity(stretch.len());
    for stored in stretch {
        let seq = stored.seq;
        match parsed(stored) {
            Ok(message) => {
                entries.push((seq, terms_of(&message, before.as_ref())));
                before = Some(message);
            }
            Err(refusal) => {
                // It stays in the history; only a search passes it by.
                tracing::warn!(%seq, reason = %refusal.detail, "a message could not be indexed");
                entries.push((seq, Terms::default()));
            }
        }
    }
    entries
}

fn terms_of(message: &Message, before: Option<&Message>) -> Terms {
    let fields = bethink_recall::fields(message);
    Terms {
        user: fields.user,
        assistant: fields.assistant,
        tool_input: fields.tool_input,
        tool_result: fields.tool_result,
        marks: bethink_recall::marks::marks(message, before),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use bethink_config::Settings;
    use bethink_store::{ImportBatch, ImportedMessage, JobState, NewRecord, NewSession};
    use bethink_transcript::{MessageId, Role, UnixMicros};
    use bytes::Bytes;
    use uuid::Uuid;

    use super::*;
    use crate::SearchRequest;

    const SESSION: SessionId = SessionId(Uuid::from_u128(7));
    /// More than two stretches.
    const MESSAGES: u64 = 2 * STRETCH as u64 + 10;

    async fn boot(home: &tempfile::TempDir) -> Daemon {
        Daemon::boot(Settings::at(home.path())).await.unwrap()
    }

    /// A session as an import leaves it that was killed before it left work.
    async fn import(daemon: &Daemon) {
        let new = NewSession {
            id: SESSION,
            project_dir: "/project".into(),
            title: None,
            tags: Vec::new(),
            parent: None,
            forked_at: None,
            model: serde_json::to_string(&daemon.model_or_default(None).unwrap()).unwrap(),
            created_at: UnixMicros(1),
            content_hash: None,
        };
        daemon.store().create_session(new, None).await.unwrap();
        let records = (1..=MESSAGES).map(record).collect();
        let batch = ImportBatch { session: SESSION, records, progress: None };
        daemon.store().import(batch).await.unwrap();
    }

    fn record(line: u64) -> NewRecord {
        let message = ImportedMessage {
            id: MessageId::new(&format!("m{line}")).unwrap(),
            role: Role::User,
            raw: Bytes::from(format!(r#"{{"role":"user","content":"tomato number{line}"}}"#)),
            created_at: UnixMicros(1),
        };
        let message = Some((SESSION, message));
        NewRecord { line, head: Bytes::new(), tail: Bytes::from_static(b"\n"), message }
    }

    /// Seq of the best hit: the parts of a word match elsewhere, too.
    async fn found(daemon: &Daemon, q: &str) -> Option<u64> {
        let request = SearchRequest { q: q.to_owned(), ..SearchRequest::default() };
        let hits = daemon.search(SESSION, &request).await.unwrap().hits;
        hits.first().map(|hit| hit.seq)
    }

    fn job(sessions: &[Uuid]) -> Job {
        Job {
            id: jobs::new_id(),
            kind: INDEX.into(),
            session: None,
            payload: json!({ "sessions": sessions }).to_string(),
            state: JobState::Running,
            owner: None,
            attempts: 1,
            progress: Progress::default(),
            result: None,
            error: None,
            created_at: UnixMicros(1),
            updated_at: UnixMicros(1),
        }
    }

    #[tokio::test]
    async fn a_search_finishes_an_index_that_was_cut_off() {
        let home = tempfile::tempdir().unwrap();
        let daemon = boot(&home).await;
        import(&daemon).await;
        assert_eq!(daemon.index_stretch(SESSION).await.unwrap(), Some(STRETCH as u64));
        daemon.shutdown().await;
        drop(daemon);
        let daemon = boot(&home).await;
        assert!(daemon.store().unindexed(SESSION).await.unwrap().is_some());
        assert_eq!(found(&daemon, &format!("number{MESSAGES}")).await, Some(MESSAGES));
        assert_eq!(found(&daemon, "number3").await, Some(3));
        assert_eq!(daemon.store().unindexed(SESSION).await.unwrap(), None);
        daemon.shutdown().await;
    }

    async fn append(daemon: &Daemon, numbers: std::ops::Range<u64>) {
        let messages: Vec<_> = numbers
            .map(
                |n| json!({"id": format!("a{n}"), "role": "user", "content": format!("pepper{n}")}),
            )
            .collect();
        let body = json!({ "messages": messages }).to_string();
        daemon.append(SESSION, body.into(), None).await.unwrap();
    }

    #[tokio::test]
    async fn an_append_is_found_when_it_is_answered() {
        let home = tempfile::tempdir().unwrap();
        let daemon = boot(&home).await;
        import(&daemon).await;
        append(&daemon, 0..1).await;
        assert!(daemon.store().unindexed(SESSION).await.unwrap().is_some());
        assert_eq!(found(&daemon, "pepper0").await, Some(MESSAGES + 1));
        append(&daemon, 1..2).await;
        daemon.shutdown().await;
        drop(daemon);
        let daemon = boot(&home).await;
        assert_eq!(found(&daemon, "pepper1").await, Some(MESSAGES + 2), "the mark is durable");
        daemon.shutdown().await;
    }

    async fn indexed_by_itself(daemon: &Daemon) {
        let done = async {
            while daemon.store().unindexed(SESSION).await.unwrap().is_some() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), done).await.unwrap();
    }

    /// The tail that a search would have to index stays short without a search.
    #[tokio::test]
    async fn a_long_tail_is_indexed_when_it_is_quiet() {
        let home = tempfile::tempdir().unwrap();
        let daemon = boot(&home).await;
        import(&daemon).await;
        append(&daemon, 0..UNINDEXED).await;
        append(&daemon, UNINDEXED..2 * UNINDEXED).await;
        indexed_by_itself(&daemon).await;
        daemon.shutdown().await;
    }

    /// What a search answers with `complete: false`.
    #[tokio::test]
    async fn an_index_that_takes_too_long_is_left_to_be_finished() {
        let home = tempfile::tempdir().unwrap();
        let daemon = boot(&home).await;
        import(&daemon).await;
        let at_once = std::time::Duration::ZERO;
        assert!(!daemon.finish_indexes(&[SESSION], at_once).await.unwrap());
        indexed_by_itself(&daemon).await;
        assert!(daemon.finish_indexes(&[SESSION], at_once).await.unwrap());
        daemon.shutdown().await;
    }

    #[tokio::test]
    async fn two_who_index_at_once_do_it_once() {
        let home = tempfile::tempdir().unwrap();
        let daemon = boot(&home).await;
        import(&daemon).await;
        let (one, other) = tokio::join!(found(&daemon, "number200"), found(&daemon, "number200"));
        assert_eq!((one, other), (Some(200), Some(200)));
        assert_eq!(found(&daemon, "number200").await, Some(200));
        assert_eq!(daemon.store().unindexed(SESSION).await.unwrap(), None);
        daemon.shutdown().await;
    }

    #[tokio::test]
    async fn work_left_by_the_last_daemon_is_done_by_the_next() {
        let home = tempfile::tempdir().unwrap();
        let daemon = boot(&home).await;
        import(&daemon).await;
        daemon.index_later(&[SESSION]).await.unwrap();
        daemon.shutdown().await;
        drop(daemon);
        let daemon = boot(&home).await;
        indexed_by_itself(&daemon).await;
        daemon.shutdown().await;
    }

    #[tokio::test]
    async fn a_session_that_was_deleted_needs_no_index() {
        let home = tempfile::tempdir().unwrap();
        let daemon = boot(&home).await;
        let result = daemon.run_index(&job(&[SESSION.0])).await.unwrap();
        assert_eq!(result, json!({ "messages": 0 }));
        daemon.shutdown().await;
    }
}
