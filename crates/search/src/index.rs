//! The search index, which is built in the background, or by the first search that needs it. An append does not index
//! its messages, because indexing a message costs several times as much as storing it.

use bethink_api as api;
use bethink_service::{
    ErrorKind, JobHandler, JobOutput, JobRunner, JobStart, Result, blocking, job_payload, locked,
    parse_stored,
};
use bethink_store::{IndexBatch, JobRecord, Progress, SeqRange, StoredMessage, Terms};
use bethink_transcript::{JobId, Message, Seq, SessionId};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::SearchService;

const INDEX: &str = "index";

#[derive(Deserialize)]
struct IndexPayload {
    sessions: Vec<SessionId>,
}

/// Number of messages that are indexed in one transaction. Such a transaction occupies the writer for about 20 ms.
const BATCH: usize = 128;
/// Maximum total size, in bytes, of the messages that are indexed in one transaction. A single message may be larger.
const BATCH_BYTES: usize = 16 << 20;
/// A session is indexed in the background each time it has grown by this many messages, so that a search needs at most
/// about 10 ms to index the rest.
const UNINDEXED: u64 = 64;

/// Maximum number of sessions that are enqueued for indexing at startup. A search indexes the others if it needs them.
const MAX_LAGGING: usize = 10_000;

impl SearchService {
    /// Enqueues these sessions for indexing. The caller wakes the worker.
    pub async fn index_later(&self, sessions: &[SessionId]) -> Result<JobId> {
        let payload = json!({ "sessions": sessions });
        self.cx.jobs().enqueue_background(INDEX, sessions.first().copied(), &payload).await
    }

    /// Enqueues a session for indexing while the daemon is idle, unless the session is already enqueued. The caller
    /// does not wait. If this fails, the next search indexes the session.
    pub fn index_soon(&self, session: SessionId) {
        if !locked(&self.queue).insert(session) {
            return;
        }
        let search = self.clone();
        self.cx.spawn(async move {
            if let Err(refusal) = search.index_later(&[session]).await {
                tracing::debug!(%session, reason = %refusal.detail, "could not index new messages; the next search will index them");
                locked(&search.queue).remove(&session);
            }
            search.cx.jobs().wake();
        });
    }

    /// Must be called after an append. Enqueues the session each time it has grown by `UNINDEXED` messages.
    pub fn appended(&self, session: SessionId, seq: Seq) {
        if seq.0.is_multiple_of(UNINDEXED) {
            self.index_soon(session);
        }
    }

    /// Must be called when another daemon has taken a session: its job has moved there.
    pub fn remove_from_queue(&self, session: SessionId) {
        locked(&self.queue).remove(&session);
    }

    /// Must be called when jobs may have moved to other daemons.
    pub fn clear_queue(&self) {
        locked(&self.queue).clear();
    }

    async fn run_index(&self, job: &JobRecord, runner: &JobRunner) -> Result<Value> {
        let IndexPayload { sessions } = job_payload(job)?;
        let mut progress = Progress { unit: "messages".to_owned(), ..Progress::default() };
        for session in sessions {
            locked(&self.queue).remove(&session);
            loop {
                runner.run_foreground_jobs().await;
                match self.index_batch(session).await {
                    Ok(None) => break,
                    Ok(Some(indexed)) => progress.done += indexed,
                    // The session has been deleted.
                    Err(refusal) if refusal.kind == ErrorKind::NotFound => break,
                    Err(refusal) => return Err(refusal),
                }
                progress.total = progress.done;
                runner.heartbeat(job.id, progress.clone()).await?;
            }
        }
        while self.cx.store().tidy().await? {
            runner.run_foreground_jobs().await;
            runner.heartbeat(job.id, progress.clone()).await?;
        }
        Ok(json!({ "messages": progress.done }))
    }

    /// Enqueues the sessions that the previous daemon did not finish indexing. After a recovery, or if the format of
    /// the index has changed, all sessions are enqueued.
    pub async fn enqueue_stale_indexes(&self) -> Result<()> {
        let lagging = self.cx.store().lagging(MAX_LAGGING).await?;
        if !lagging.is_empty() {
            self.index_later(&lagging).await?;
        }
        Ok(())
    }

    /// Rebuilds the index of these sessions from their history.
    pub async fn rebuild_index(&self, sessions: &[SessionId]) -> Result<api::Job> {
        for session in sessions {
            self.cx.store().reindex(*session).await?;
        }
        let id = self.index_later(sessions).await?;
        self.cx.jobs().wake();
        self.cx.jobs().job(id).await
    }

    /// Indexes a batch of messages, and returns their number, or `None` if all messages are already indexed.
    pub(crate) async fn index_batch(&self, session: SessionId) -> Result<Option<u64>> {
        let Some(range) = self.cx.store().unindexed(session).await? else { return Ok(None) };
        let store = self.cx.store();
        let range = SeqRange { limit: BATCH, bytes: BATCH_BYTES, ..range };
        let batch = store.messages(session, range).await?;
        let count = batch.len() as u64;
        let through = through(range, &batch);
        let before = range.after.map(|seq| (session, seq));
        let before = store.messages_at(before.into_iter().collect()).await?.pop();
        let before = before.map(|(_, stored)| stored);
        let entries = blocking(|| Ok(entries(before, batch))).await?;
        if self.cx.store().index(IndexBatch { session, entries, through }).await? {
            // The nil id, which no session has, requests an optimization of the whole index.
            self.index_soon(SessionId(uuid::Uuid::nil()));
        }
        Ok(Some(count))
    }
}

/// Builds the index in the background.
impl JobHandler for SearchService {
    fn kind(&self) -> &'static str {
        INDEX
    }

    fn start(&self) -> JobStart {
        JobStart::WhenIdle
    }

    fn run<'a>(&'a self, job: &'a JobRecord, runner: &'a JobRunner) -> JobOutput<'a> {
        Box::pin(self.run_index(job, runner))
    }
}

/// Returns the last message that the index covers after this batch. An empty batch covers the range to its end, because
/// a recovered session may have lost its last messages.
fn through(range: SeqRange, batch: &[StoredMessage]) -> Seq {
    let end = Seq(range.before.map_or(u64::MAX, |before| before.0.saturating_sub(1)));
    batch.last().map_or(end, |last| last.seq)
}

/// Returns the terms of a batch. Each message is read in the context of the previous one.
fn entries(before: Option<StoredMessage>, batch: Vec<StoredMessage>) -> Vec<(Seq, Terms)> {
    let mut before = before.and_then(|stored| parse_stored(stored).ok());
    let mut entries = Vec::with_capacity(batch.len());
    for stored in batch {
        let seq = stored.seq;
        match parse_stored(stored) {
            Ok(message) => {
                entries.push((seq, terms_of(&message, before.as_ref())));
                before = Some(message);
            }
            Err(refusal) => {
                // The message stays in the history, but searches do not find it.
                tracing::warn!(%seq, reason = %refusal.detail, "could not index a message");
                entries.push((seq, Terms::default()));
            }
        }
    }
    entries
}

/// Returns the terms of a message, which is read in the context of the previous one.
pub fn terms_of(message: &Message, before: Option<&Message>) -> Terms {
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
mod tests {
    use std::ops::Range;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use bethink_service::{JobRunner, ServiceContext, new_job_id};

    use bethink_service_testing as testing;
    use bethink_store::{Append, ImportBatch, JobState, NewMessage, NewRecord, NewSession};
    use bethink_transcript::{MessageId, Role, UnixMicros};
    use bytes::Bytes;
    use uuid::Uuid;

    use super::*;
    use bethink_api::SearchQuery;

    const SESSION: SessionId = SessionId(Uuid::from_u128(7));
    /// More than two batches.
    const MESSAGES: u64 = 2 * BATCH as u64 + 10;

    /// A search service with its own home, and a worker.
    struct Home {
        cx: ServiceContext,
        search: SearchService,
        runner: JobRunner,
    }

    impl Home {
        async fn open(directory: &Path) -> Self {
            let cx = testing::context(directory).await;
            let search = SearchService::new(cx.clone());
            let runner = JobRunner::new(cx.clone(), vec![Arc::new(search.clone())]);
            runner.release().await.unwrap();
            cx.spawn(runner.clone().work());
            Self { cx, search, runner }
        }

        /// Adds a session like one whose import was killed before it enqueued the indexing.
        async fn imported(directory: &Path) -> Self {
            let home = Self::open(directory).await;
            let model = json!({ "name": "unknown", "context_window": 200_000 }).to_string();
            let new = NewSession::new(SESSION, "/project".into(), model, UnixMicros(1));
            home.cx.store().create_session(new, None).await.unwrap();
            let records = (1..=MESSAGES).map(record).collect();
            let batch = ImportBatch { session: SESSION, records, progress: None };
            home.cx.store().import(batch).await.unwrap();
            home
        }

        async fn close(self) {
            self.cx.stop().await;
            self.runner.release().await.unwrap();
            self.cx.store().close().await.unwrap();
        }

        /// Returns the number of the best hit. Parts of a word may match in other messages.
        async fn found(&self, q: &str) -> Option<u64> {
            let request = SearchQuery { q: q.to_owned(), ..SearchQuery::default() };
            let hits = self.search.search(SESSION, &request).await.unwrap().hits;
            hits.first().map(|hit| hit.seq)
        }

        async fn append(&self, numbers: Range<u64>) {
            let messages = numbers
                .map(|n| NewMessage {
                    id: MessageId::new(&format!("a{n}")).unwrap(),
                    role: Role::User,
                    raw: Bytes::from(format!(r#"{{"role":"user","content":"pepper{n}"}}"#)),
                    recorded: false,
                    created_at: UnixMicros(1),
                })
                .collect();
            let append = Append {
                session: SESSION,
                messages,
                only_new: false,
                receipt: None,
                at: self.cx.now(),
            };
            let appended = self.cx.store().append(append).await.unwrap();
            self.cx.jobs().note_activity();
            appended.places.iter().for_each(|(seq, _)| self.search.appended(SESSION, *seq));
        }

        async fn unindexed(&self) -> Option<SeqRange> {
            self.cx.store().unindexed(SESSION).await.unwrap()
        }

        async fn indexed_by_itself(&self) {
            let done = async {
                while self.unindexed().await.is_some() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(30), done).await.unwrap();
        }
    }

    fn record(line: u64) -> NewRecord {
        let message = NewMessage {
            id: MessageId::new(&format!("m{line}")).unwrap(),
            role: Role::User,
            raw: Bytes::from(format!(r#"{{"role":"user","content":"tomato number{line}"}}"#)),
            recorded: true,
            created_at: UnixMicros(1),
        };
        let message = Some((SESSION, message));
        NewRecord { line, head: Bytes::new(), tail: Bytes::from_static(b"\n"), message }
    }

    #[tokio::test]
    async fn a_search_finishes_an_index_that_was_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::imported(directory.path()).await;
        let indexed = home.search.index_batch(SESSION).await.unwrap();
        assert_eq!(indexed, Some(BATCH as u64));
        home.close().await;
        let home = Home::open(directory.path()).await;
        assert!(home.unindexed().await.is_some());
        assert_eq!(home.found(&format!("number{MESSAGES}")).await, Some(MESSAGES));
        assert_eq!(home.found("number3").await, Some(3));
        assert_eq!(home.unindexed().await, None);
        home.close().await;
    }

    #[tokio::test]
    async fn an_append_is_found_when_it_is_answered() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::imported(directory.path()).await;
        home.append(0..1).await;
        assert!(home.unindexed().await.is_some());
        assert_eq!(home.found("pepper0").await, Some(MESSAGES + 1));
        home.append(1..2).await;
        home.close().await;
        let home = Home::open(directory.path()).await;
        assert_eq!(home.found("pepper1").await, Some(MESSAGES + 2), "the mark is durable");
        home.close().await;
    }

    /// Even without a search, few messages remain unindexed.
    #[tokio::test]
    async fn a_long_tail_is_indexed_when_it_is_quiet() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::imported(directory.path()).await;
        home.append(0..UNINDEXED).await;
        home.append(UNINDEXED..2 * UNINDEXED).await;
        home.indexed_by_itself().await;
        home.close().await;
    }

    /// A search that cannot wait for the index answers with `complete: false`.
    #[tokio::test]
    async fn an_index_that_takes_too_long_is_left_to_be_finished() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::imported(directory.path()).await;
        let at_once = Duration::ZERO;
        assert!(!home.search.finish_indexes(&[SESSION], at_once).await.unwrap());
        home.indexed_by_itself().await;
        assert!(home.search.finish_indexes(&[SESSION], at_once).await.unwrap());
        home.close().await;
    }

    #[tokio::test]
    async fn concurrent_searches_index_each_message_once() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::imported(directory.path()).await;
        let (one, other) = tokio::join!(home.found("number200"), home.found("number200"));
        assert_eq!((one, other), (Some(200), Some(200)));
        assert_eq!(home.found("number200").await, Some(200));
        assert_eq!(home.unindexed().await, None);
        home.close().await;
    }

    #[tokio::test]
    async fn unfinished_indexing_is_continued_by_the_next_daemon() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::imported(directory.path()).await;
        home.search.index_later(&[SESSION]).await.unwrap();
        home.close().await;
        let home = Home::open(directory.path()).await;
        home.indexed_by_itself().await;
        home.close().await;
    }

    /// The worker runs a job of the queue to completion.
    #[tokio::test]
    async fn a_session_that_was_deleted_needs_no_index() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::open(directory.path()).await;
        let payload = json!({ "sessions": [SESSION.0] });
        let id = new_job_id();
        home.cx.jobs().enqueue(id, INDEX, None, &payload).await.unwrap();
        let ended = async {
            loop {
                let job = home.cx.store().job(id).await.unwrap();
                if !matches!(job.state, JobState::Queued | JobState::Running) {
                    return job;
                }
                tokio::task::yield_now().await;
            }
        };
        let job = tokio::time::timeout(Duration::from_secs(30), ended).await.unwrap();
        assert_eq!((job.state, job.error), (JobState::Done, None));
        assert_eq!(job.result.as_deref(), Some(r#"{"messages":0}"#));
        home.close().await;
    }
}
