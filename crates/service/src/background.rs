//! Work outside the request threads: blocking work, and background work on a thread of low priority.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::timeout;

use crate::{Result, ServiceError, locked};

/// How long to wait for a disk that may not respond.
const DISK_TIMEOUT: Duration = Duration::from_secs(2);

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

/// Runs work on the disk of `dir`, which may not respond. Returns `None` if the work has not ended after [`DISK_TIMEOUT`]. Its thread keeps
/// waiting; until it ends, `None` is returned at once for this directory, so that no more threads wait for it.
pub async fn blocking_on_disk<T: Send + 'static>(
    dir: &Path,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    within(DISK_TIMEOUT, dir, work).await
}

async fn within<T: Send + 'static>(
    limit: Duration,
    dir: &Path,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    static STUCK: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if locked(&STUCK).contains(dir) {
        return None;
    }
    let mut task = tokio::task::spawn_blocking(work);
    if let Ok(ended) = timeout(limit, &mut task).await {
        return ended.ok();
    }
    let dir = dir.to_owned();
    locked(&STUCK).insert(dir.clone());
    tokio::spawn(async move {
        drop(task.await);
        locked(&STUCK).remove(&dir);
    });
    None
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
    async fn only_one_thread_waits_for_a_directory_whose_disk_does_not_respond() {
        let limit = Duration::from_millis(20);
        let [dead, alive] = ["/dead", "/alive"].map(Path::new);
        let (answer, disk) = std::sync::mpsc::channel::<()>();
        assert_eq!(within(limit, dead, move || disk.recv().is_ok()).await, None);
        assert_eq!(within(Duration::from_secs(60), dead, || true).await, None);
        assert_eq!(within(Duration::from_secs(60), alive, || true).await, Some(true));
        answer.send(()).unwrap();
        while within(Duration::from_secs(60), dead, || true).await.is_none() {
            tokio::task::yield_now().await;
        }
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
