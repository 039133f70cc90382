//! What a writer does: takes requests, commits them together, answers.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use bethink_store::{Append, Appended, Result, StoreError};
use sqlx::{Connection, SqliteConnection};
use tokio::sync::oneshot;

use crate::append::{Waiting, append_group};
use crate::error::{copy, from_io, from_sqlx, is_of_the_disk};
use crate::files;
use crate::hot::Hot;
use crate::options::GROUP_BYTES;

/// What the writer has before it.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) connection: SqliteConnection,
    pub(crate) hot: Hot,
    /// When receipts were last looked through for old ones.
    pub(crate) pruned: Option<i64>,
    pub(crate) path: PathBuf,
}

pub(crate) type Working<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

pub(crate) enum Request {
    Append(Append, oneshot::Sender<Result<Appended>>),
    /// Any other write.
    Work(Box<dyn Work>),
    Close(oneshot::Sender<Result<()>>),
}

/// A write that runs inside a transaction and is answered when that is committed.
pub(crate) trait Work: Send {
    fn run<'a>(&'a mut self, desk: &'a mut Desk) -> Working<'a, ()>;
    /// `outcome` is of the transaction, or of the write itself if that was refused.
    fn settle(self: Box<Self>, outcome: Result<()>);
}

/// A write made of a function.
pub(crate) struct Task<F, T> {
    pub(crate) work: Option<F>,
    pub(crate) answer: Option<T>,
    pub(crate) reply: oneshot::Sender<Result<T>>,
}

impl<F, T> Work for Task<F, T>
where
    T: Send,
    F: for<'a> FnOnce(&'a mut Desk) -> Working<'a, T> + Send,
{
    fn run<'a>(&'a mut self, desk: &'a mut Desk) -> Working<'a, ()> {
        Box::pin(async move {
            if let Some(work) = self.work.take() {
                self.answer = Some(work(desk).await?);
            }
            Ok(())
        })
    }

    fn settle(self: Box<Self>, outcome: Result<()>) {
        let Self { answer, reply, .. } = *self;
        let _ = reply.send(outcome.and_then(|()| answer.ok_or(StoreError::Closed)));
    }
}

/// Those who wait for the end.
pub(crate) type Closing = Vec<oneshot::Sender<Result<()>>>;

/// Answers all of a group but those who wait for the end.
pub(crate) async fn serve(desk: &mut Desk, group: Vec<Request>) -> Closing {
    let mut closing = Vec::new();
    for part in parts(group.into_iter()) {
        match part {
            Part::Appends(appends) => append_group(desk, appends).await,
            Part::Works(works) => work_group(desk, works).await,
            Part::Close(reply) => closing.push(reply),
        }
    }
    closing
}

impl Desk {
    /// After a failure: ends the transaction, if there still is one, and forgets what was planned.
    pub(crate) async fn abandon(&mut self) {
        self.hot.forget();
        // SQLite has often rolled back by itself, and then says that there is nothing to roll back.
        let _ = sqlx::query("ROLLBACK").execute(&mut self.connection).await;
    }

    /// Carries the WAL over and leaves the mark that says so.
    pub(crate) async fn close(mut self) -> Result<()> {
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
            .execute(&mut self.connection)
            .await
            .map_err(from_sqlx)?;
        self.connection.close().await.map_err(from_sqlx)?;
        files::mark_clean(&self.path).map_err(|error| from_io(&error))
    }
}

enum Part {
    Appends(Vec<Waiting>),
    Works(Vec<Box<dyn Work>>),
    Close(oneshot::Sender<Result<()>>),
}

/// Neighbours that can share a transaction, in order of arrival.
fn parts(requests: impl Iterator<Item = Request>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut bytes = 0;
    for request in requests {
        match (request, parts.last_mut()) {
            (Request::Append(append, reply), last) => {
                bytes += weight(&append);
                match last {
                    Some(Part::Appends(appends)) if bytes <= GROUP_BYTES => {
                        appends.push((append, reply));
                    }
                    _ => {
                        bytes = weight(&append);
                        parts.push(Part::Appends(vec![(append, reply)]));
                    }
                }
            }
            (Request::Work(work), Some(Part::Works(works))) => works.push(work),
            (Request::Work(work), _) => parts.push(Part::Works(vec![work])),
            (Request::Close(reply), _) => parts.push(Part::Close(reply)),
        }
    }
    parts
}

fn weight(append: &Append) -> usize {
    append.messages.iter().map(|message| message.raw.len()).sum()
}

/// One transaction for all; a write that is refused is undone alone.
async fn work_group(desk: &mut Desk, mut works: Vec<Box<dyn Work>>) {
    let outcomes = match work_all(desk, &mut works).await {
        Ok(outcomes) => outcomes,
        Err(error) => {
            desk.abandon().await;
            works.iter().map(|_| Err(copy(&error))).collect()
        }
    };
    for (work, outcome) in works.into_iter().zip(outcomes) {
        work.settle(outcome);
    }
}

async fn work_all(desk: &mut Desk, works: &mut [Box<dyn Work>]) -> Result<Vec<Result<()>>> {
    desk.execute("BEGIN IMMEDIATE").await?;
    if let [work] = works {
        // Alone it needs no savepoint: the transaction is its own.
        work.run(desk).await?;
        desk.execute("COMMIT").await?;
        return Ok(vec![Ok(())]);
    }
    let mut outcomes = Vec::with_capacity(works.len());
    for work in works {
        desk.execute("SAVEPOINT work").await?;
        let outcome = work.run(desk).await;
        if let Err(error) = &outcome {
            if is_of_the_disk(error) {
                return Err(copy(error));
            }
            desk.hot.forget();
            desk.execute("ROLLBACK TO work").await?;
        }
        desk.execute("RELEASE work").await?;
        outcomes.push(outcome);
    }
    desk.execute("COMMIT").await?;
    Ok(outcomes)
}

impl Desk {
    async fn execute(&mut self, sql: &'static str) -> Result<()> {
        sqlx::query(sql).execute(&mut self.connection).await.map(drop).map_err(from_sqlx)
    }
}
