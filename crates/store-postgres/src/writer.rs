//! The writer of appends: a task that takes all waiting appends, commits them together and answers them. What it remembers
//! between two groups is checked by the database, because another process may append in between.

use bethink_store::{Append, AppendResult, StoreError, StoreResult};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::append::Appender;
use crate::connections::ConnectionQueue;
use crate::options::{GROUP_BYTES, GROUP_REQUESTS, QUEUE, TEST_AFTER_IDLE};

pub(crate) type Answer<T> = oneshot::Sender<StoreResult<T>>;

enum QueuedRequest {
    Append(Append, Answer<AppendResult>),
    Close(Answer<()>),
}

/// A handle to the writer. Clones share the writer.
#[derive(Clone, Debug)]
pub(crate) struct AppendWriter(mpsc::Sender<QueuedRequest>);

impl AppendWriter {
    /// Starts the writer. Must be called within a Tokio runtime. The writer ends when all clones are dropped, or when one
    /// closes it.
    pub(crate) fn start(connections: ConnectionQueue) -> Self {
        let (requests, waiting) = mpsc::channel(QUEUE);
        tokio::spawn(serve(connections, waiting));
        Self(requests)
    }

    pub(crate) async fn append(&self, append: Append) -> StoreResult<AppendResult> {
        self.ask(|answer| QueuedRequest::Append(append, answer)).await
    }

    /// Commits what waits, and closes the connection.
    pub(crate) async fn close(&self) -> StoreResult<()> {
        self.ask(QueuedRequest::Close).await
    }

    /// Sends a request and waits for the answer after the commit. The request is carried out even if the caller is gone.
    async fn ask<T>(&self, request: impl FnOnce(Answer<T>) -> QueuedRequest) -> StoreResult<T> {
        let (answer, answered) = oneshot::channel();
        self.0.send(request(answer)).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }
}

async fn serve(connections: ConnectionQueue, mut waiting: mpsc::Receiver<QueuedRequest>) {
    let (mut requests, mut closing) = (Vec::new(), Vec::new());
    let mut appender = Appender::new(connections.clone());
    loop {
        let next = waiting.recv_many(&mut requests, GROUP_REQUESTS);
        let count = match appender.is_connected() {
            true => timeout(TEST_AFTER_IDLE, next).await,
            false => Ok(next.await),
        };
        match count {
            Ok(0) => break,
            Ok(_) => {}
            // It will be tested before it is used again.
            Err(_) => appender.release_connection(),
        }
        let (mut group, mut bytes) = (Vec::new(), 0);
        for request in requests.drain(..) {
            match request {
                QueuedRequest::Append(append, answer) => {
                    let more =
                        append.messages.iter().map(|message| message.raw.len()).sum::<usize>();
                    bytes += more;
                    if bytes > GROUP_BYTES {
                        appender.append_group(std::mem::take(&mut group)).await;
                        bytes = more;
                    }
                    group.push((append, answer));
                }
                QueuedRequest::Close(answer) => closing.push(answer),
            }
        }
        appender.append_group(group).await;
        if !closing.is_empty() {
            // Accepts no more requests, and serves the queued ones.
            waiting.close();
        }
    }
    appender.release_connection();
    if closing.is_empty() {
        return;
    }
    connections.close().await;
    for answer in closing {
        // A caller that went away has lost only the answer.
        let _ = answer.send(Ok(()));
    }
}
