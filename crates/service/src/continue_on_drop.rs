//! Work that is carried out even if nobody waits for it any more.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Work that runs within the caller's task. If the caller goes away, the rest continues as a task of its own. Spawning
/// a task from the start would cost each caller two thread switches.
pub struct ContinueOnDrop<F>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    rest: Option<Pin<Box<F>>>,
    tracker: TaskTracker,
    runtime: Handle,
    /// Makes shutdown wait for the work.
    _token: TaskTrackerToken,
}

impl<F> ContinueOnDrop<F>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    /// Must be called within a Tokio runtime.
    pub fn new(tracker: &TaskTracker, work: F) -> Self {
        let (tracker, token) = (tracker.clone(), tracker.token());
        Self { rest: Some(Box::pin(work)), tracker, runtime: Handle::current(), _token: token }
    }
}

impl<F> fmt::Debug for ContinueOnDrop<F>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContinueOnDrop").finish_non_exhaustive()
    }
}

impl<F> Future for ContinueOnDrop<F>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // Work that panics is not continued.
        let Some(mut rest) = self.rest.take() else { return Poll::Pending };
        let polled = rest.as_mut().poll(cx);
        if polled.is_pending() {
            self.rest = Some(rest);
        }
        polled
    }
}

impl<F> Drop for ContinueOnDrop<F>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn drop(&mut self) {
        if let Some(rest) = self.rest.take() {
            self.tracker.spawn_on(async move { drop(rest.await) }, &self.runtime);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn work_ends_whether_or_not_somebody_waits() {
        let tracker = TaskTracker::new();
        let (go, done) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let work = || {
            let (go, done) = (Arc::clone(&go), Arc::clone(&done));
            async move {
                go.acquire().await.unwrap().forget();
                done.add_permits(1);
                7
            }
        };
        let mut left = Box::pin(ContinueOnDrop::new(&tracker, work()));
        let polled = std::future::poll_fn(|cx| Poll::Ready(left.as_mut().poll(cx))).await;
        assert!(polled.is_pending());
        drop(left);
        drop(ContinueOnDrop::new(&tracker, work()));
        go.add_permits(3);
        assert_eq!(ContinueOnDrop::new(&tracker, work()).await, 7);
        tracker.close();
        tracker.wait().await;
        assert_eq!(done.available_permits(), 3);
    }
}
