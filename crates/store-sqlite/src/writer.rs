//! The writer: a task with the only writing connection. It takes all waiting requests, commits them together and
//! answers them.

use std::path::PathBuf;
use std::sync::Arc;

use bethink_store::{Append, AppendResult, StoreError, StoreFuture, StoreResult};
use sqlx::{Connection, SqliteConnection};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

use crate::append::{SessionEnds, append_group};
use crate::background::blocking;
use crate::connect;
use crate::error::{fails_all, from_sqlx};
use crate::files;
use crate::open::open_for_writing;
use crate::opened::OpenReport;
use crate::options::{GROUP_BYTES, GROUP_REQUESTS, Options, QUEUE};
use crate::readers::{self, Readers};
use crate::sql::sql;

/// Number of times to yield to the callers of a group that was just answered, so that their next requests arrive
/// together. Each yield wakes a thread of the runtime, so the writer does not yield to a single caller.
const PATIENCE: usize = 3;

pub(crate) type Answer<T> = oneshot::Sender<StoreResult<T>>;

/// A write that runs in a transaction and is answered after the commit.
type WriteWork = Box<dyn for<'a> FnOnce(&'a mut SqliteConnection) -> StoreFuture<'a, ()> + Send>;

pub(crate) enum WriteRequest {
    Append(Append, Answer<AppendResult>),
    /// Any other write, and whether it may change which message is a session's last.
    Work(WriteWork, LastMessages, Answer<()>),
    /// A test of whether writing works.
    Probe(Answer<Option<OpenReport>>),
    Close(Answer<()>),
}

/// Whether a write may change which messages are the last of a session: it appends messages without [`append_group`], or
/// creates or deletes a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastMessages {
    MayChange,
    Unchanged,
}

/// The database, and how it is opened.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseFile {
    pub(crate) path: PathBuf,
    pub(crate) options: Options,
}

/// A handle to the writer. Clones share the writer.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    requests: mpsc::Sender<WriteRequest>,
    /// The reason why nothing can be written, if there is one.
    pub(crate) fault: Arc<watch::Sender<Option<StoreError>>>,
}

impl Writer {
    /// Starts the writer. Must be called within a Tokio runtime. The writer ends when all clones are dropped, or when one
    /// closes it.
    pub(crate) fn start(
        file: DatabaseFile,
        db: Option<SqliteConnection>,
        readers: Readers,
        fault: Option<StoreError>,
    ) -> Self {
        let (requests, waiting) = mpsc::channel(QUEUE);
        let fault = Arc::new(watch::Sender::new(fault));
        tokio::spawn(serve(file, db, readers, waiting, Arc::clone(&fault)));
        Self { requests, fault }
    }

    /// Runs `work` in the next transaction.
    pub(crate) async fn write<T, F>(&self, effect: LastMessages, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut SqliteConnection) -> StoreFuture<'a, T> + Send + 'static,
    {
        let (keep, kept) = oneshot::channel();
        let work: WriteWork = Box::new(move |db| {
            Box::pin(async move {
                let _ = keep.send(work(db).await?);
                Ok(())
            })
        });
        self.ask(|answer| WriteRequest::Work(work, effect, answer)).await?;
        kept.await.map_err(|_| StoreError::Closed)
    }

    pub(crate) async fn close(&self) -> StoreResult<()> {
        self.ask(WriteRequest::Close).await
    }

    /// Sends a request and waits for the answer after the commit. The request is carried out even if the caller is gone.
    pub(crate) async fn ask<T>(
        &self,
        request: impl FnOnce(Answer<T>) -> WriteRequest,
    ) -> StoreResult<T> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(request(answer)).await.map_err(|_| StoreError::Closed)?;
        let outcome = answered.await.map_err(|_| StoreError::Closed)?;
        if let Err(error) = &outcome
            && error.is_of_the_disk()
        {
            self.fault.send_replace(Some(error.clone()));
        }
        outcome
    }
}

async fn serve(
    file: DatabaseFile,
    mut db: Option<SqliteConnection>,
    readers: Readers,
    mut waiting: mpsc::Receiver<WriteRequest>,
    fault: Arc<watch::Sender<Option<StoreError>>>,
) {
    let mut served = 0;
    let (mut ends, mut closing) = (SessionEnds::new(), Vec::new());
    loop {
        for _ in 0..PATIENCE {
            if served == 1 || waiting.len() >= served {
                break;
            }
            tokio::task::yield_now().await;
        }
        let mut group = Vec::new();
        served = waiting.recv_many(&mut group, GROUP_REQUESTS).await;
        if served == 0 {
            break;
        }
        match &mut db {
            Some(db) => serve_group(db, &mut ends, group, &mut closing).await,
            None => {
                let why = fault.borrow().clone().unwrap_or(StoreError::Closed);
                for answer in refuse_group(group, &why, &mut closing) {
                    let probed = match &mut db {
                        Some(db) => probe(db).await,
                        None => reopen_aside(&file, &readers).await.map(|(opened, report)| {
                            db = Some(opened);
                            Some(report)
                        }),
                    };
                    let _ = answer.send(probed);
                }
            }
        }
        if !closing.is_empty() {
            // Accepts no more requests, and serves the queued ones.
            waiting.close();
        }
    }
    if closing.is_empty() {
        return;
    }
    let outcome = match db {
        Some(db) => close(db, file.path).await,
        None => Ok(()),
    };
    for answer in closing {
        let _ = answer.send(outcome.clone());
    }
}

/// Refuses all writes, because the database could not be opened for writing. Returns the requests to try again.
fn refuse_group(
    group: Vec<WriteRequest>,
    why: &StoreError,
    closing: &mut Vec<Answer<()>>,
) -> Vec<Answer<Option<OpenReport>>> {
    let mut probes = Vec::new();
    for request in group {
        // A caller that went away has lost only the answer.
        match request {
            WriteRequest::Append(_, answer) => drop(answer.send(Err(why.clone()))),
            WriteRequest::Work(_, _, answer) => drop(answer.send(Err(why.clone()))),
            WriteRequest::Probe(answer) => probes.push(answer),
            WriteRequest::Close(answer) => closing.push(answer),
        }
    }
    probes
}

/// Runs [`reopen`] on another thread, because the future of a migration cannot move between threads.
async fn reopen_aside(
    file: &DatabaseFile,
    readers: &Readers,
) -> StoreResult<(SqliteConnection, OpenReport)> {
    let (file, readers, runtime) = (file.clone(), readers.clone(), Handle::current());
    let work = move || runtime.block_on(reopen(&file, readers));
    blocking(work).await?
}

/// Opens the database for writing, while nobody is reading: SQLite shares state between the connections of a process.
async fn reopen(
    DatabaseFile { path, options }: &DatabaseFile,
    readers: Readers,
) -> StoreResult<(SqliteConnection, OpenReport)> {
    let mut pool = readers.replace().await;
    pool.close().await;
    match open_for_writing(path, *options).await {
        Ok(opened) => {
            *pool = connect::readers(path);
            Ok(opened)
        }
        Err(error) => {
            if let Ok(reading) = readers::without_writing(path).await {
                *pool = reading;
            }
            Err(error.of_the_disk().unwrap_or_else(|| StoreError::Disk(error.to_string())))
        }
    }
}

/// Writes a page, waits until it is on disk, and empties the log.
async fn probe(db: &mut SqliteConnection) -> StoreResult<Option<OpenReport>> {
    // bethink does not use this number, so writing it changes nothing.
    sql("PRAGMA user_version = 0").run(&mut *db).await?;
    empty_log(db).await.map(|_| None)
}

/// Serves the requests of a group in order of arrival, with requests to close last. Consecutive requests of one kind
/// share a transaction.
async fn serve_group(
    db: &mut SqliteConnection,
    ends: &mut SessionEnds,
    group: Vec<WriteRequest>,
    closing: &mut Vec<Answer<()>>,
) {
    let (mut appends, mut works, mut bytes) = (Vec::new(), Vec::new(), 0);
    for request in group {
        match request {
            WriteRequest::Append(append, answer) => {
                work_group(db, std::mem::take(&mut works)).await;
                let more = append.messages.iter().map(|message| message.raw.len()).sum::<usize>();
                bytes += more;
                if bytes > GROUP_BYTES {
                    append_group(db, ends, std::mem::take(&mut appends)).await;
                    bytes = more;
                }
                appends.push((append, answer));
            }
            WriteRequest::Work(work, effect, answer) => {
                append_group(db, ends, std::mem::take(&mut appends)).await;
                if effect == LastMessages::MayChange {
                    ends.clear();
                }
                works.push((work, answer));
            }
            WriteRequest::Probe(answer) => drop(answer.send(probe(db).await)),
            WriteRequest::Close(answer) => closing.push(answer),
        }
    }
    work_group(db, works).await;
    append_group(db, ends, appends).await;
}

/// Runs all writes in one transaction. A write that fails is rolled back separately.
async fn work_group(db: &mut SqliteConnection, group: Vec<(WriteWork, Answer<()>)>) {
    if group.is_empty() {
        return;
    }
    let (works, answers): (Vec<_>, Vec<_>) = group.into_iter().unzip();
    let outcomes = match work_all(db, works).await {
        Ok(outcomes) => outcomes,
        Err(error) => {
            roll_back(db, &error).await;
            vec![Err(error); answers.len()]
        }
    };
    for (answer, outcome) in answers.into_iter().zip(outcomes) {
        // A caller that went away has lost only the answer.
        let _ = answer.send(outcome);
    }
}

async fn work_all(
    db: &mut SqliteConnection,
    works: Vec<WriteWork>,
) -> StoreResult<Vec<StoreResult<()>>> {
    sql("BEGIN IMMEDIATE").run(&mut *db).await?;
    let mut outcomes = Vec::with_capacity(works.len());
    // A write that is alone needs no savepoint: the transaction ends with it.
    let is_alone = works.len() == 1;
    for work in works {
        outcomes.push(if is_alone { Ok(work(db).await?) } else { work_apart(db, work).await? });
    }
    sql("COMMIT").run(db).await?;
    Ok(outcomes)
}

/// Runs one of several writes. If it fails, only its own changes are undone.
async fn work_apart(db: &mut SqliteConnection, work: WriteWork) -> StoreResult<StoreResult<()>> {
    sql("SAVEPOINT work").run(&mut *db).await?;
    let outcome = work(db).await;
    if let Err(error) = &outcome {
        if fails_all(error) {
            return Err(error.clone());
        }
        sql("ROLLBACK TO work").run(&mut *db).await?;
    }
    sql("RELEASE work").run(&mut *db).await?;
    Ok(outcome)
}

/// Ends the transaction after a failure, if one is still open.
pub(crate) async fn roll_back(db: &mut SqliteConnection, error: &StoreError) {
    // SQLite often has rolled back already, and then this fails.
    let _ = sql("ROLLBACK").run(&mut *db).await;
    if matches!(error, StoreError::Disk(_)) {
        // If this fails, too, the next probe does it.
        let _ = empty_log(db).await;
    }
}

/// Empties the log after a failure. A transaction that could not be synced is in the log with its end, and later ones
/// may not cover it: the next start would take that for damage (see `wal_scan`).
async fn empty_log(db: &mut SqliteConnection) -> StoreResult<u64> {
    sql("PRAGMA wal_checkpoint(TRUNCATE)").run(db).await
}

/// Checkpoints the WAL and writes the mark of a clean stop.
async fn close(mut db: SqliteConnection, path: PathBuf) -> StoreResult<()> {
    empty_log(&mut db).await?;
    db.close().await.map_err(from_sqlx)?;
    files::mark_clean(&path).map_err(|error| StoreError::of_file(&error))
}
