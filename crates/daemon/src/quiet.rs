//! Work that nobody waits for, on a thread that gives way to all others.

use crate::{Refusal, Result};

/// Runs `work` beside appends and prompts, with what they leave of the processor.
pub(crate) async fn quietly<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let (done, answer) = tokio::sync::oneshot::channel();
    // A thread of its own: a lowered priority cannot be raised again.
    std::thread::Builder::new()
        .name("quiet".to_owned())
        .spawn(move || {
            give_way();
            // Whoever asked may be gone.
            drop(done.send(work()));
        })
        .map_err(Refusal::internal)?;
    answer.await.map_err(|_| Refusal::internal("the work ended before its answer"))
}

/// Linux keeps priorities by thread; elsewhere this would slow the whole daemon.
#[cfg(target_os = "linux")]
fn give_way() {
    const NICE: i32 = 10;
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::debug!(%error, "the priority of quiet work stays");
    }
}

#[cfg(not(target_os = "linux"))]
fn give_way() {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn quiet_work_answers_and_its_end_is_an_error_not_a_hang() {
        assert_eq!(quietly(|| 2 + 2).await.unwrap(), 4);
        #[allow(clippy::panic, reason = "what the test is about")]
        let ended = quietly(|| -> u8 { panic!("the work fails") }).await;
        assert!(ended.is_err());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn quiet_work_gives_way_and_others_do_not() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let before = nice();
        assert_eq!(quietly(nice).await.unwrap(), 10.max(before));
        assert_eq!(nice(), before);
    }
}
