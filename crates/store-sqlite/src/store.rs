//! The port, method by method: writes to the queue, reads to the readers.

use std::path::PathBuf;
use std::sync::Arc;

use bethink_store::{
    Append, Appended, ClientSession, Collapse, Compaction, Created, Decision, Found, ImportBatch,
    IndexBatch, Job, JobOutcome, Kept, Lease, Lineage, Lookup, MemoryVersion, MemoryVersionFilter,
    ModelCall, NewDecision, NewJob, NewMemoryVersion, NewSession, Notes, Page, Progress, Receipt,
    Record, Relative, Reply, Result, SeqRange, Session, SessionChange, SessionFilter, Store,
    StoreError, StoredMessage, StoredReceipt, UsageFilter, UsageSum,
};
use bethink_transcript::{CompactionId, JobId, Seq, SessionId, UnixMicros};
use sqlx::SqlitePool;
use tokio::sync::{Mutex, oneshot};

use crate::queue::Queue;
use crate::writer::{Desk, Request, Task, Working};
use crate::{
    calls, clients, collapses, compactions, decisions, import, index, jobs, lineage, memory,
    messages, notes, receipts, search, sessions, tidy,
};

/// Sessions in one SQLite file. Clones are handles of the same store.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    writer: Queue,
    pub(crate) readers: SqlitePool,
    pub(crate) path: PathBuf,
    /// Held by who merges segments of the index.
    tidying: Arc<Mutex<()>>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Request")
    }
}

impl SqliteStore {
    pub(crate) fn start(desk: Desk, readers: SqlitePool) -> Self {
        let path = desk.path.clone();
        Self { writer: Queue::new(desk), readers, path, tidying: Arc::default() }
    }

    /// Does `work` in the next transaction.
    pub(crate) fn write<T, F>(&self, work: F) -> Reply<'_, T>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut Desk) -> Working<'a, T> + Send + 'static,
    {
        self.ask(|reply| Request::Work(Box::new(Task { work: Some(work), answer: None, reply })))
    }

    fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T>>) -> Request + Send + 'static,
    ) -> Reply<'_, T> {
        Box::pin(self.writer.ask(request))
    }
}

impl Store for SqliteStore {
    fn create_session(&self, new: NewSession, receipt: Option<Receipt>) -> Reply<'_, Created> {
        self.write(move |desk| Box::pin(sessions::create(desk, new, receipt)))
    }

    fn session(&self, id: SessionId) -> Reply<'_, Session> {
        Box::pin(sessions::read(&self.readers, id))
    }

    fn sessions(
        &self,
        filter: SessionFilter,
        page: Page,
    ) -> Reply<'_, (Vec<Session>, Option<String>)> {
        Box::pin(sessions::list(&self.readers, filter, page))
    }

    fn update_session(&self, id: SessionId, change: SessionChange) -> Reply<'_, Session> {
        self.write(move |desk| Box::pin(sessions::update(desk, id, change)))
    }

    fn delete_session(&self, id: SessionId) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(sessions::delete(desk, id)))
    }

    fn projects(&self) -> Reply<'_, Vec<(String, u64)>> {
        Box::pin(sessions::projects(&self.readers))
    }

    fn append(&self, append: Append) -> Reply<'_, Appended> {
        self.ask(move |reply| Request::Append(append, reply))
    }

    fn messages(&self, id: SessionId, range: SeqRange) -> Reply<'_, Vec<StoredMessage>> {
        Box::pin(messages::read(&self.readers, id, range))
    }

    fn messages_at(
        &self,
        places: Vec<(SessionId, Seq)>,
    ) -> Reply<'_, Vec<(SessionId, StoredMessage)>> {
        Box::pin(messages::read_at(&self.readers, places))
    }

    fn decisions(&self, id: SessionId) -> Reply<'_, Vec<Decision>> {
        Box::pin(decisions::read(&self.readers, id))
    }

    fn add_decisions(&self, id: SessionId, new: Vec<NewDecision>) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(decisions::add(desk, id, new)))
    }

    fn compactions(&self, id: SessionId) -> Reply<'_, Vec<Compaction>> {
        Box::pin(compactions::read(&self.readers, id))
    }

    fn add_compaction(&self, compaction: Compaction, with: Vec<NewDecision>) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(compactions::add(desk, compaction, with)))
    }

    fn undo_compaction(
        &self,
        session: SessionId,
        id: CompactionId,
        at: UnixMicros,
    ) -> Reply<'_, Compaction> {
        self.write(move |desk| Box::pin(compactions::undo(desk, session, id, at)))
    }

    fn collapses(&self, id: SessionId) -> Reply<'_, Vec<Collapse>> {
        Box::pin(collapses::read(&self.readers, id))
    }

    fn put_collapses(
        &self,
        id: SessionId,
        spans: Vec<Collapse>,
        with: Vec<NewDecision>,
    ) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(collapses::put(desk, id, spans, with)))
    }

    fn client_session(&self, client: String, key: String) -> Reply<'_, Option<SessionId>> {
        Box::pin(clients::read(&self.readers, client, key))
    }

    fn put_client_session(&self, known: ClientSession) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(clients::put(desk, known)))
    }

    fn begin_session(
        &self,
        new: NewSession,
        lineage: Lineage,
        known: Option<ClientSession>,
    ) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(lineage::begin(desk, new, lineage, known)))
    }

    fn put_lineage(&self, lineage: Lineage, after: Seq) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(lineage::put(desk, lineage, after)))
    }

    fn lineage(&self, id: SessionId) -> Reply<'_, Option<Lineage>> {
        Box::pin(lineage::read(&self.readers, id))
    }

    fn relatives(&self, scope: u64, marks: Vec<u128>) -> Reply<'_, Vec<Relative>> {
        Box::pin(lineage::find(&self.readers, scope, marks))
    }

    fn beginnings(&self) -> Reply<'_, Vec<(u64, u128)>> {
        Box::pin(lineage::beginnings(&self.readers))
    }

    fn notes(&self, id: SessionId) -> Reply<'_, Option<Notes>> {
        Box::pin(notes::read(&self.readers, id))
    }

    fn put_notes(&self, notes: Notes) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(notes::put(desk, notes)))
    }

    fn add_model_call(&self, call: ModelCall) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(calls::add(desk, call)))
    }

    fn model_usage(&self, filter: UsageFilter) -> Reply<'_, Vec<UsageSum>> {
        Box::pin(calls::sums(&self.readers, filter))
    }

    fn add_memory_versions(&self, versions: Vec<NewMemoryVersion>) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(memory::add(desk, versions)))
    }

    fn memory_versions(&self, filter: MemoryVersionFilter) -> Reply<'_, Vec<MemoryVersion>> {
        Box::pin(memory::versions(&self.readers, filter))
    }

    fn memory_content(&self, number: i64) -> Reply<'_, Option<NewMemoryVersion>> {
        Box::pin(memory::content(&self.readers, number))
    }

    fn keep(&self, kept: Kept) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(memory::keep(desk, kept)))
    }

    fn kept(&self, space: String, owner: String) -> Reply<'_, Vec<Kept>> {
        Box::pin(memory::kept(&self.readers, space, owner))
    }

    fn forget_kept(&self, space: String, owner: String, key: String) -> Reply<'_, bool> {
        self.write(move |desk| Box::pin(memory::forget(desk, space, owner, key)))
    }

    fn import(&self, batch: ImportBatch) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(import::import(desk, batch)))
    }

    fn records(&self, id: SessionId, after_line: u64, limit: usize) -> Reply<'_, Vec<Record>> {
        Box::pin(import::read(&self.readers, id, after_line, limit))
    }

    fn imported(&self, content_hash: &str) -> Reply<'_, Option<SessionId>> {
        Box::pin(sessions::imported(&self.readers, content_hash.to_owned()))
    }

    fn unindexed(&self, id: SessionId) -> Reply<'_, Option<SeqRange>> {
        Box::pin(index::unindexed(&self.readers, id))
    }

    fn lagging(&self, limit: usize) -> Reply<'_, Vec<SessionId>> {
        Box::pin(index::lagging(&self.readers, limit))
    }

    fn index(&self, batch: IndexBatch) -> Reply<'_, bool> {
        Box::pin(async move {
            let sorted = tokio::task::spawn_blocking(|| index::sorted(batch))
                .await
                .map_err(|error| StoreError::Failed(error.to_string()))?;
            self.write(move |desk| Box::pin(index::index(desk, sorted))).await
        })
    }

    fn lookup(&self, lookup: Lookup) -> Reply<'_, Found> {
        Box::pin(search::lookup(&self.readers, lookup))
    }

    fn reindex(&self, id: SessionId) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(index::reindex(desk, id)))
    }

    fn tidy(&self) -> Reply<'_, bool> {
        Box::pin(async move { tidy::tidy(self, &mut *self.tidying.lock().await).await })
    }

    fn enqueue(&self, new: NewJob) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(jobs::enqueue(desk, new)))
    }

    fn job(&self, id: JobId) -> Reply<'_, Job> {
        Box::pin(jobs::read(&self.readers, id))
    }

    fn jobs(&self, limit: usize) -> Reply<'_, Vec<Job>> {
        Box::pin(jobs::newest(&self.readers, limit))
    }

    fn lease(&self, lease: Lease) -> Reply<'_, Option<Job>> {
        self.write(move |desk| Box::pin(jobs::lease(desk, lease)))
    }

    fn heartbeat(&self, id: JobId, lease: Lease, progress: Progress) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(jobs::heartbeat(desk, id, lease, progress)))
    }

    fn finish(
        &self,
        id: JobId,
        owner: String,
        outcome: JobOutcome,
        at: UnixMicros,
    ) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(jobs::finish(desk, id, owner, outcome, at)))
    }

    fn release(&self, owner: String) -> Reply<'_, ()> {
        self.write(move |desk| Box::pin(jobs::release(desk, owner)))
    }

    fn receipt(&self, key: String) -> Reply<'_, Option<StoredReceipt>> {
        Box::pin(async move { receipts::read(&self.readers, &key).await })
    }

    fn put_receipt(&self, receipt: Receipt, answer: String, at: UnixMicros) -> Reply<'_, ()> {
        self.write(move |desk| {
            Box::pin(async move { receipts::put(desk, &receipt, &answer, at).await })
        })
    }

    fn close(&self) -> Reply<'_, ()> {
        Box::pin(async move {
            // Readers first: a checkpoint can't empty the WAL under an open read.
            self.readers.close().await;
            self.ask(Request::Close).await
        })
    }
}
