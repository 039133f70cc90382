//! The writer: a task with the only writing connection. It takes all waiting requests, commits them together and
//! answers them.

use std::path::PathBuf;

use bethink_store::{Append, AppendResult, StoreError, StoreFuture, StoreResult};
use sqlx::{Connection, SqliteConnection};
use tokio::sync::{mpsc, oneshot};

use crate::append::{SessionEnds, append_group};
use crate::error::{from_io, from_sqlx, is_of_the_disk};
use crate::files;
use crate::options::{GROUP_BYTES, GROUP_REQUESTS, QUEUE};
use crate::sql::sql;

/// How often to yield to callers that were just answered, so that their next requests arrive together.
const PATIENCE: usize = 3;

pub(crate) type Answer<T> = oneshot::Sender<StoreResult<T>>;

/// A write that runs in a transaction and is answered after the commit.
type WriteWork = Box<dyn for<'a> FnOnce(&'a mut SqliteConnection) -> StoreFuture<'a, ()> + Send>;

pub(crate) enum WriteRequest {
    Append(Append, Answer<AppendResult>),
    /// Any other write.
    Work(WriteWork, Answer<()>),
    Close(Answer<()>),
}

/// A handle to the writer. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Writer(mpsc::Sender<WriteRequest>);

impl Writer {
    /// Starts the writer. Must be called within a Tokio runtime. The writer ends when all clones are dropped, or when one
    /// closes it.
    pub(crate) fn start(db: SqliteConnection, path: PathBuf) -> Self {
        let (requests, waiting) = mpsc::channel(QUEUE);
        tokio::spawn(serve(db, path, waiting));
        Self(requests)
    }

    /// Runs `work` in the next transaction.
    pub(crate) async fn write<T, F>(&self, work: F) -> StoreResult<T>
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
        self.ask(|answer| WriteRequest::Work(work, answer)).await?;
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
        self.0.send(request(answer)).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }
}

async fn serve(mut db: SqliteConnection, path: PathBuf, mut waiting: mpsc::Receiver<WriteRequest>) {
    let mut served = 0;
    let (mut ends, mut closing) = (SessionEnds::new(), Vec::new());
    loop {
        for _ in 0..PATIENCE {
            if waiting.len() >= served {
                break;
            }
            tokio::task::yield_now().await;
        }
        let mut group = Vec::new();
        served = waiting.recv_many(&mut group, GROUP_REQUESTS).await;
        if served == 0 {
            break;
        }
        serve_group(&mut db, &mut ends, group, &mut closing).await;
        if !closing.is_empty() {
            // Accepts no more requests, and serves the queued ones.
            waiting.close();
        }
    }
    if closing.is_empty() {
        return;
    }
    let outcome = close(db, path).await;
    for answer in closing {
        let _ = answer.send(outcome.clone());
    }
}

/// Serves a group in order of arrival, requests to close last. Consecutive requests of one kind share a transaction.
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
            WriteRequest::Work(work, answer) => {
                append_group(db, ends, std::mem::take(&mut appends)).await;
                // Other work may append too, or delete a session.
                ends.clear();
                works.push((work, answer));
            }
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
            roll_back(db).await;
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
    for work in works {
        sql("SAVEPOINT work").run(&mut *db).await?;
        let outcome = work(db).await;
        if let Err(error) = &outcome {
            if is_of_the_disk(error) {
                return Err(error.clone());
            }
            sql("ROLLBACK TO work").run(&mut *db).await?;
        }
        sql("RELEASE work").run(&mut *db).await?;
        outcomes.push(outcome);
    }
    sql("COMMIT").run(db).await?;
    Ok(outcomes)
}

/// Ends the transaction after a failure, if there still is one.
pub(crate) async fn roll_back(db: &mut SqliteConnection) {
    // SQLite often has rolled back already, and then this fails.
    let _ = sql("ROLLBACK").run(db).await;
}

/// Checkpoints the WAL and writes the mark of a clean stop.
async fn close(mut db: SqliteConnection, path: PathBuf) -> StoreResult<()> {
    sql("PRAGMA wal_checkpoint(TRUNCATE)").run(&mut db).await?;
    db.close().await.map_err(from_sqlx)?;
    files::mark_clean(&path).map_err(|error| from_io(&error))
}
