//! Who writes: a caller with nobody before it writes itself, and those who come meanwhile are served
//! together by a task. So a lone write costs no change of task, and many share a commit.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bethink_store::{Result, StoreError};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

use crate::error::copy;
use crate::options::{GROUP_REQUESTS, QUEUE};
use crate::writer::{Closing, Desk, Request, serve};

/// How often those who were just answered are let go first, so that their next requests come together.
const PATIENCE: usize = 3;

/// The way to the desk. Clones lead to the same one.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Callers that may wait here; more wait before it.
    room: Semaphore,
    runtime: Handle,
}

#[derive(Debug)]
struct State {
    /// Here while nobody writes. Who takes it serves all that wait before it is put back.
    desk: Option<Desk>,
    waiting: Vec<Request>,
    closed: bool,
}

impl Queue {
    /// Call within a Tokio runtime.
    pub(crate) fn new(desk: Desk) -> Self {
        let state = State { desk: Some(desk), waiting: Vec::new(), closed: false };
        let shared = Shared {
            state: Mutex::new(state),
            room: Semaphore::new(QUEUE),
            runtime: Handle::current(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The answer to a request, after its commit. Once begun, a write ends even if the caller goes away.
    pub(crate) async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T>>) -> Request,
    ) -> Result<T> {
        let _room = self.shared.room.acquire().await.map_err(|_| StoreError::Closed)?;
        let (reply, answer) = oneshot::channel();
        if let Some(writer) = Writer::enter(&self.shared, request(reply))? {
            let runtime = self.shared.runtime.clone();
            Turn { rest: Some(Box::pin(writer.take_turn())), runtime }.await;
        }
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

/// Who has the desk.
struct Writer {
    shared: Arc<Shared>,
    desk: Option<Desk>,
}

impl Writer {
    /// Leaves the request, and takes the desk if it is free.
    fn enter(shared: &Arc<Shared>, request: Request) -> Result<Option<Self>> {
        let mut state = shared.state();
        if state.closed {
            return Err(StoreError::Closed);
        }
        state.waiting.push(request);
        let desk = state.desk.take();
        drop(state);
        Ok(desk.map(|desk| Self { shared: Arc::clone(shared), desk: Some(desk) }))
    }

    /// Serves what waits, which begins with the caller's own request. The rest is not for a caller to
    /// wait for.
    async fn take_turn(mut self) {
        let (_, closing) = self.serve_group().await;
        if !closing.is_empty() {
            return self.close(closing).await;
        }
        if !self.leave() {
            let runtime = self.shared.runtime.clone();
            runtime.spawn(self.go_on());
        }
    }

    async fn go_on(mut self) {
        loop {
            let (served, closing) = self.serve_group().await;
            if !closing.is_empty() {
                return self.close(closing).await;
            }
            for _ in 0..PATIENCE {
                if self.shared.state().waiting.len() >= served {
                    break;
                }
                tokio::task::yield_now().await;
            }
            if self.leave() {
                return;
            }
        }
    }

    /// Answers with the size of the group, and with those who wait for the end.
    async fn serve_group(&mut self) -> (usize, Closing) {
        let group: Vec<_> = {
            let mut state = self.shared.state();
            let size = state.waiting.len().min(GROUP_REQUESTS);
            state.waiting.drain(..size).collect()
        };
        let size = group.len();
        match &mut self.desk {
            Some(desk) => (size, serve(desk, group).await),
            None => (size, Closing::new()),
        }
    }

    /// Puts the desk back, unless somebody waits.
    fn leave(&mut self) -> bool {
        let mut state = self.shared.state();
        let idle = state.waiting.is_empty();
        if idle {
            state.desk = self.desk.take();
        }
        idle
    }

    /// Lets nobody in any more, serves those who are, and closes.
    async fn close(mut self, mut closing: Closing) {
        self.shared.state().closed = true;
        while !self.shared.state().waiting.is_empty() {
            closing.append(&mut self.serve_group().await.1);
        }
        let Some(desk) = self.desk.take() else { return };
        let outcome = desk.close().await;
        for reply in closing {
            let _ = reply.send(outcome.as_ref().copied().map_err(copy));
        }
    }
}

/// A writer that is lost with its desk (a panic, the end of the runtime) leaves nobody waiting.
impl Drop for Writer {
    fn drop(&mut self) {
        if self.desk.is_some() {
            let mut state = self.shared.state();
            state.closed = true;
            state.waiting.clear();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs in its caller, and, if the caller goes away in the middle, to its end without it: half a
/// transaction must not stay on the connection, and others may wait for the same one.
struct Turn {
    rest: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    runtime: Handle,
}

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(rest) = &mut self.rest else { return Poll::Ready(()) };
        let outcome = rest.as_mut().poll(context);
        if outcome.is_ready() {
            self.rest = None;
        }
        outcome
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // After a panic there is no rest that could be polled again.
        if let Some(rest) = self.rest.take()
            && !std::thread::panicking()
        {
            self.runtime.spawn(rest);
        }
    }
}
