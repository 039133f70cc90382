//! The store's handle. The session methods are here; the others are in the files of their tables.

use std::sync::{Arc, OnceLock};

use bethink_store::{
    Append, AppendResult, CollapseRecord, CompactionRecord, Created, DecisionRecord, NewDecision,
    NewSession, PageRequest, PeerStore, Receipt, SeqRange, SessionChange, SessionFilter,
    SessionRecord, SessionStore, Store, StoreError, StoreFuture, StoreResult, StoredMessage,
    StoredReceipt,
};
use bethink_transcript::{CompactionId, Seq, SessionId, UnixMicros};
use sqlx::PgConnection;
use tokio::sync::Mutex;

use crate::connections::ConnectionQueue;
use crate::findings::StoreFindings;
use crate::options::PostgresOptions;
use crate::presence::Presence;
use crate::record::Record;
use crate::sql::{Row, Statement, sql};
use crate::writer::AppendWriter;
use crate::{collapses, compactions, decisions, messages, receipts, sessions};

const MAY_NOT_USE: &str = "
    SELECT EXISTS (
        SELECT
        FROM pg_namespace
        WHERE nspname = $1
          AND NOT has_schema_privilege(oid, 'USAGE')
    )";

/// Sessions in one PostgreSQL database. Clones are handles to the same store.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    writer: AppendWriter,
    pub(crate) readers: ConnectionQueue,
    writers: ConnectionQueue,
    /// Locked while this process leases a job, so that its calls get the oldest jobs in the order of the calls.
    pub(crate) leasing: Arc<Mutex<()>>,
    /// Locked while this process merges segments of the index.
    pub(crate) tidying: Arc<Mutex<()>>,
    pub(crate) findings: StoreFindings,
    /// `None` if no daemon uses the store.
    pub(crate) presence: Option<Presence>,
    pub(crate) options: Arc<PostgresOptions>,
    /// The schema of the tables. Set when the database has been opened.
    pub(crate) schema: Arc<OnceLock<String>>,
}

impl PostgresStore {
    /// Creates the store, without a connection yet.
    pub(crate) fn start(options: &PostgresOptions) -> Self {
        let PostgresOptions { address, readers, writers, daemon } = options;
        let findings = StoreFindings::default();
        let presence = daemon.as_ref().map(|daemon| Presence::new(address, daemon, &findings));
        let (daemon, schema) = (presence.as_ref().map(Presence::settings), Arc::default());
        let queue = |count| ConnectionQueue::new(address, count, daemon, &findings, &schema);
        Self {
            // An append waits for no other write of this process.
            writer: AppendWriter::start(queue(1)),
            readers: queue(*readers),
            writers: queue(*writers),
            leasing: Arc::default(),
            tidying: Arc::default(),
            findings,
            presence,
            options: Arc::new(options.clone()),
            schema,
        }
    }

    /// A relation that is missing may only be hidden: the server says the same if this user may not use the schema.
    pub(crate) async fn with_cause<T: Send>(&self, outcome: StoreResult<T>) -> StoreResult<T> {
        let schema = match (&outcome, self.schema.get()) {
            (Err(StoreError::Damaged(_)), Some(schema)) => schema,
            _ => return outcome,
        };
        let check = sql(MAY_NOT_USE).bind(schema.clone());
        let is_hidden = match self.readers.get().await {
            Ok(mut db) => check.value(&mut *db).await.unwrap_or(false),
            Err(_) => false,
        };
        match is_hidden {
            true => Err(StoreError::Denied(format!("no permission for the schema {schema}"))),
            false => outcome,
        }
    }

    /// Runs a read, and records what it finds out about the database. All reads of the port go through this method.
    pub(crate) fn read<'a, T: Send + 'a>(
        &'a self,
        reading: impl Future<Output = StoreResult<T>> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move { self.findings.of_read(self.with_cause(reading.await).await) })
    }

    /// Runs `work` in a transaction.
    pub(crate) fn write<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut PgConnection) -> StoreFuture<'a, T> + Send + 'static,
    {
        let written = self.writers.clone().write(work);
        Box::pin(async move {
            let written = self.findings.of_write(self.with_cause(written.await).await);
            if let (Err(StoreError::Moved { session, .. }), Some(presence)) =
                (&written, &self.presence)
            {
                // The news that it was taken may have been lost.
                presence.report_lost(*session);
            }
            written
        })
    }

    /// Runs one statement in a transaction.
    pub(crate) fn run(&self, statement: Statement) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(async move { statement.run(db).await.map(drop) }))
    }

    /// Does the same as [`run`](Self::run) for a session, which must exist.
    pub(crate) fn run_for(&self, id: SessionId, statement: Statement) -> StoreFuture<'_, ()> {
        self.write(move |db| {
            Box::pin(async move {
                sessions::hold(&mut *db, id).await?;
                statement.run(db).await.map(drop)
            })
        })
    }

    pub(crate) fn all<T: Send + 'static>(
        &self,
        statement: Statement,
        read: impl Fn(&Row) -> StoreResult<T> + Send + 'static,
    ) -> StoreFuture<'_, Vec<T>> {
        self.read(async move { statement.all(&mut *self.readers.get().await?, read).await })
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
                sessions::must_exist(&mut *self.readers.get().await?, id).await?;
            }
            Ok(all)
        })
    }

    pub(crate) fn optional<T: Send + 'static>(
        &self,
        statement: Statement,
        read: impl FnOnce(&Row) -> StoreResult<T> + Send + 'static,
    ) -> StoreFuture<'_, Option<T>> {
        self.read(async move { statement.optional(&mut *self.readers.get().await?, read).await })
    }
}

impl SessionStore for PostgresStore {
    fn create_session(
        &self,
        new: NewSession,
        receipt: Option<Receipt>,
    ) -> StoreFuture<'_, Created> {
        self.write(move |db| Box::pin(sessions::create(db, new, receipt)))
    }

    fn session(&self, id: SessionId) -> StoreFuture<'_, SessionRecord> {
        self.read(async move { sessions::read(&mut *self.readers.get().await?, id).await })
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
        Box::pin(async move {
            // The daemon that has the session must not go on with it.
            self.take_session(id).await?;
            self.write(move |db| Box::pin(sessions::delete(db, id))).await
        })
    }

    fn projects(&self) -> StoreFuture<'_, Vec<(String, u64)>> {
        self.all(sql(sessions::PROJECTS), |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn append(&self, append: Append) -> StoreFuture<'_, AppendResult> {
        let appended = self.writer.append(append);
        Box::pin(async move { self.findings.of_write(self.with_cause(appended.await).await) })
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

impl Store for PostgresStore {
    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.writer.close().await?;
            self.writers.close().await;
            self.readers.close().await;
            if let Some(presence) = &self.presence {
                presence.close().await;
            }
            Ok(())
        })
    }
}
