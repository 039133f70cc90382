//! The store's handle: sends writes to the writer and reads to the readers. The session methods are here; the others are
//! in the files of their tables.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use bethink_store::{
    Append, AppendResult, CollapseRecord, CompactionRecord, Created, DecisionRecord, HealthStore,
    NewDecision, NewSession, PageRequest, PeerStore, Receipt, SeqRange, SessionChange,
    SessionFilter, SessionRecord, SessionStore, Store, StoreError, StoreFuture, StoreResult,
    StoredMessage, StoredReceipt, SyncedMemoryStore, TeamHistoryStore,
};
use bethink_transcript::{CompactionId, Seq, SessionId, UnixMicros};
use sqlx::{SqliteConnection, SqlitePool};
use tokio::sync::Mutex;

use crate::open::open_for_writing;
use crate::opened::{OpenError, OpenReport};
use crate::options::Options;
use crate::readers::{self, Readers};
use crate::record::Record;
use crate::sql::{Row, Statement, sql};
use crate::writer::{DatabaseFile, LastMessages, WriteRequest, Writer};
use crate::{collapses, compactions, connect, decisions, files, messages, receipts, sessions};

/// Sessions in one SQLite file. Clones are handles to the same store.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    writer: Writer,
    pub(crate) readers: Readers,
    pub(crate) path: PathBuf,
    /// Locked while segments of the index are merged.
    pub(crate) tidying: Arc<Mutex<()>>,
    damage: Arc<OnceLock<String>>,
}

impl SqliteStore {
    /// Opens the store at `path`, or creates it. Must be called within a Tokio runtime. If the disk is full, read-only or
    /// failing, the store only serves reads, and [`HealthStore::fault`] says why, until [`HealthStore::probe`] succeeds.
    pub async fn open(path: &Path, options: Options) -> Result<(Self, OpenReport), OpenError> {
        let file = DatabaseFile { path: path.to_owned(), options };
        match open_for_writing(path, options).await {
            Ok((db, report)) => {
                Ok((Self::start(file, Some(db), connect::readers(path), None), report))
            }
            Err(error) => {
                let Some(fault) = error.of_the_disk() else { return Err(error) };
                match readers::without_writing(path).await {
                    Ok(pool) => {
                        let store = Self::start(file, None, pool, Some(fault));
                        Ok((store, OpenReport::default()))
                    }
                    Err(unreadable) => {
                        tracing::debug!(%unreadable, "could not open the database for reading");
                        Err(error)
                    }
                }
            }
        }
    }

    /// Starts the store. Without a writing connection, `fault` says why.
    pub(crate) fn start(
        file: DatabaseFile,
        db: Option<SqliteConnection>,
        readers: SqlitePool,
        fault: Option<StoreError>,
    ) -> Self {
        let (path, readers) = (file.path.clone(), Readers::new(readers));
        let writer = Writer::start(file, db, readers.clone(), fault);
        Self { writer, readers, path, tidying: Arc::default(), damage: Arc::default() }
    }

    /// Marks the file, so that the next start recovers it. Must be called only for faults that a recovery removes. If
    /// the mark cannot be written, the next fault triggers another attempt.
    pub(crate) fn note_damage(&self, fault: &str) {
        if self.damage.set(fault.to_owned()).is_ok() {
            tracing::error!(
                fault,
                "the database is damaged; restart the daemon to recover the intact rows"
            );
        }
        if files::suspicion(&self.path).is_none()
            && let Err(error) = files::mark_suspect(&self.path, fault)
        {
            tracing::error!(%error, "could not mark the database for recovery");
        }
    }

    /// Runs a read, and marks the file if the read finds damage. All reads of the port go through this method.
    pub(crate) fn read<'a, T: 'a>(
        &'a self,
        reading: impl Future<Output = StoreResult<T>> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move { reading.await.inspect_err(|error| self.note_if_damaged(error)) })
    }

    fn note_if_damaged(&self, error: &StoreError) {
        if let StoreError::Damaged(fault) = error {
            self.note_damage(fault);
        }
    }

    /// Runs `work` in the next transaction. The work must not append messages, or create or delete a session.
    pub(crate) fn write<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut SqliteConnection) -> StoreFuture<'a, T> + Send + 'static,
    {
        self.read(self.writer.write(LastMessages::Unchanged, work))
    }

    /// Runs work that may append messages, or create or delete a session, in the next transaction.
    pub(crate) fn write_history<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut SqliteConnection) -> StoreFuture<'a, T> + Send + 'static,
    {
        self.read(self.writer.write(LastMessages::MayChange, work))
    }

    /// Runs one statement in the next transaction.
    pub(crate) fn run(&self, statement: Statement) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(async move { statement.run(db).await.map(drop) }))
    }

    /// Writes rows with their checksums. The statement ends in `RETURNING *`.
    pub(crate) fn seal(&self, table: &'static str, statement: Statement) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(async move { statement.seal(db, table).await.map(drop) }))
    }

    /// Does the same as [`seal`](Self::seal) for a session, which must exist.
    pub(crate) fn seal_for(
        &self,
        id: SessionId,
        table: &'static str,
        statement: Statement,
    ) -> StoreFuture<'_, ()> {
        self.write(move |db| {
            Box::pin(async move {
                sessions::must_exist(&mut *db, id).await?;
                statement.seal(db, table).await.map(drop)
            })
        })
    }

    pub(crate) fn all<T: Send + 'static>(
        &self,
        statement: Statement,
        read: impl Fn(&Row) -> StoreResult<T> + Send + 'static,
    ) -> StoreFuture<'_, Vec<T>> {
        self.read(async move { statement.all(&*self.readers.get().await, read).await })
    }

    /// Does the same as [`all`](Self::all) for a session, which must exist.
    pub(crate) fn all_of<T: Send + 'static>(
        &self,
        id: SessionId,
        statement: Statement,
        read: impl Fn(&Row) -> StoreResult<T> + Send + 'static,
    ) -> StoreFuture<'_, Vec<T>> {
        Box::pin(async move {
            let all = self.all(statement, read).await?;
            if all.is_empty() {
                sessions::must_exist(&*self.readers.get().await, id).await?;
            }
            Ok(all)
        })
    }

    pub(crate) fn optional<T: Send + 'static>(
        &self,
        statement: Statement,
        read: impl FnOnce(&Row) -> StoreResult<T> + Send + 'static,
    ) -> StoreFuture<'_, Option<T>> {
        self.read(async move { statement.optional(&*self.readers.get().await, read).await })
    }
}

impl SessionStore for SqliteStore {
    fn create_session(
        &self,
        new: NewSession,
        receipt: Option<Receipt>,
    ) -> StoreFuture<'_, Created> {
        self.write_history(move |db| Box::pin(sessions::create(db, new, receipt)))
    }

    fn session(&self, id: SessionId) -> StoreFuture<'_, SessionRecord> {
        self.read(async move { sessions::read(&*self.readers.get().await, id).await })
    }

    fn sessions(
        &self,
        filter: SessionFilter,
        page: PageRequest,
    ) -> StoreFuture<'_, (Vec<SessionRecord>, Option<String>)> {
        self.read(sessions::list(&self.readers, filter, page))
    }

    fn update_session(
        &self,
        id: SessionId,
        change: SessionChange,
    ) -> StoreFuture<'_, SessionRecord> {
        self.write(move |db| Box::pin(sessions::update(db, id, change)))
    }

    fn delete_session(&self, id: SessionId) -> StoreFuture<'_, ()> {
        self.write_history(move |db| Box::pin(sessions::delete(db, id)))
    }

    fn projects(&self) -> StoreFuture<'_, Vec<(String, u64)>> {
        self.all(sql(sessions::PROJECTS), |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn append(&self, append: Append) -> StoreFuture<'_, AppendResult> {
        self.read(self.writer.ask(|answer| WriteRequest::Append(append, answer)))
    }

    fn messages(&self, id: SessionId, range: SeqRange) -> StoreFuture<'_, Vec<StoredMessage>> {
        Box::pin(messages::read(self, id, range))
    }

    fn messages_at(
        &self,
        places: Vec<(SessionId, Seq)>,
    ) -> StoreFuture<'_, Vec<(SessionId, StoredMessage)>> {
        Box::pin(messages::read_at(self, places))
    }

    fn decisions(&self, id: SessionId) -> StoreFuture<'_, Vec<DecisionRecord>> {
        self.all_of(id, sql(decisions::READ).bind(id), Record::read)
    }

    fn add_decisions(&self, id: SessionId, new: Vec<NewDecision>) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(decisions::add(db, id, new)))
    }

    fn compactions(&self, id: SessionId) -> StoreFuture<'_, Vec<CompactionRecord>> {
        self.all_of(id, sql(compactions::READ).bind(id), Record::read)
    }

    fn add_compaction(
        &self,
        compaction: CompactionRecord,
        with: Vec<NewDecision>,
    ) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(compactions::add(db, compaction, with)))
    }

    fn undo_compaction(
        &self,
        session: SessionId,
        id: CompactionId,
        at: UnixMicros,
        with: Vec<NewDecision>,
    ) -> StoreFuture<'_, CompactionRecord> {
        self.write(move |db| Box::pin(compactions::undo(db, session, id, at, with)))
    }

    fn collapses(&self, id: SessionId) -> StoreFuture<'_, Vec<CollapseRecord>> {
        self.all_of(id, sql(collapses::READ).bind(id), collapses::collapse)
    }

    fn put_collapses(
        &self,
        id: SessionId,
        spans: Vec<CollapseRecord>,
        with: Vec<NewDecision>,
    ) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(collapses::put(db, id, spans, with)))
    }

    fn receipt(&self, key: String) -> StoreFuture<'_, Option<StoredReceipt>> {
        self.optional(sql(receipts::READ).bind(key), Record::read)
    }

    fn put_receipt(&self, receipt: Receipt, answer: String, at: UnixMicros) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(receipts::put(db, receipt, answer, at)))
    }
}

impl HealthStore for SqliteStore {
    fn fault(&self) -> Option<StoreError> {
        self.writer.fault.borrow().clone()
    }

    fn failed(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        // Fails only after the last handle was dropped.
        Box::pin(async { drop(self.writer.fault.subscribe().wait_for(Option::is_some).await) })
    }

    fn probe(&self) -> StoreFuture<'_, Option<OpenReport>> {
        Box::pin(async {
            let probed = self.writer.ask(WriteRequest::Probe).await;
            if probed.is_ok() {
                self.writer.fault.send_replace(None);
            }
            probed
        })
    }

    fn note_fault(&self, fault: StoreError) {
        self.writer.fault.send_replace(Some(fault));
    }

    /// The next start recovers the intact rows.
    fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }
}

/// One daemon holds the home, and with it the file.
impl PeerStore for SqliteStore {}

impl SyncedMemoryStore for SqliteStore {}

impl TeamHistoryStore for SqliteStore {}

impl Store for SqliteStore {
    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            // Readers first: a checkpoint cannot empty the WAL during a read.
            self.readers.get().await.close().await;
            self.writer.close().await
        })
    }
}
