//! Work outside the request threads: blocking work, and background work on a thread of low priority.

use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::{Result, ServiceError};

/// How long to wait for a disk that may not answer.
const DISK_PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of threads that may wait for such disks: a part of the 512 that the runtime has.
const MOST_DISK_TASKS: usize = 64;

/// Runs `work` with low priority, so that appends and prompts go first.
pub async fn at_low_priority<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let (done, answer) = tokio::sync::oneshot::channel();
    // A new thread, because a lowered priority cannot be raised again.
    std::thread::Builder::new()
        .name("background".to_owned())
        .spawn(move || {
            lower_thread_priority();
            // The caller may be gone.
            drop(done.send(work()));
        })
        .map_err(ServiceError::internal)?;
    answer.await.map_err(|_| ServiceError::internal("a background thread ended without a result"))
}

/// Runs `work` that waits for a disk or computes for a while, outside the request threads.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(ServiceError::internal)?
}

/// Runs work on a disk that may not answer. Returns `None` if it has not ended after [`DISK_PATIENCE`]: its thread then waits on, which is
/// why there are at most [`MOST_DISK_TASKS`] of them.
pub async fn blocking_on_disk<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    static TASKS: Semaphore = Semaphore::const_new(MOST_DISK_TASKS);
    within(DISK_PATIENCE, &TASKS, work).await
}

async fn within<T: Send + 'static>(
    limit: Duration,
    tasks: &'static Semaphore,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let done = async {
        let task = tasks.acquire().await.ok()?;
        let work = move || {
            let _task = task;
            work()
        };
        tokio::task::spawn_blocking(work).await.ok()
    };
    timeout(limit, done).await.ok()?
}

/// Lowers the priority of this thread. Only Linux has priorities per thread; elsewhere this would slow the whole
/// daemon.
#[cfg(target_os = "linux")]
fn lower_thread_priority() {
    const NICE: i32 = 10;
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::debug!(%error, "could not lower the priority of background work");
    }
}

#[cfg(not(target_os = "linux"))]
fn lower_thread_priority() {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn background_work_answers_and_a_panic_is_an_error() {
        assert_eq!(at_low_priority(|| 2 + 2).await.unwrap(), 4);
        #[allow(clippy::panic, reason = "what the test is about")]
        let ended = at_low_priority(|| -> u8 { panic!("the work fails") }).await;
        assert!(ended.is_err());
    }

    #[tokio::test]
    async fn a_disk_that_does_not_answer_takes_only_some_threads() {
        static TASKS: Semaphore = Semaphore::const_new(1);
        let limit = Duration::from_millis(20);
        let (answer, disk) = std::sync::mpsc::channel::<()>();
        assert_eq!(within(limit, &TASKS, move || disk.recv().is_ok()).await, None);
        // The only thread still waits.
        assert_eq!(within(limit, &TASKS, || true).await, None);
        answer.send(()).unwrap();
        assert_eq!(within(Duration::from_secs(60), &TASKS, || true).await, Some(true));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn background_work_has_low_priority_and_others_do_not() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let before = nice();
        assert_eq!(at_low_priority(nice).await.unwrap(), 10.max(before));
        assert_eq!(nice(), before);
    }
}
