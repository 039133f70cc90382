//! Work outside the request threads: blocking work, and background work on a thread of low priority.

use crate::{Result, ServiceError};

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

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn background_work_has_low_priority_and_others_do_not() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let before = nice();
        assert_eq!(at_low_priority(nice).await.unwrap(), 10.max(before));
        assert_eq!(nice(), before);
    }
}
