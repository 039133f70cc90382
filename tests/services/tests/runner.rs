//! How the job runner treats jobs that fail.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bethink_service::{ErrorKind, JobHandler, JobOutput, JobRunner, ServiceError, new_job_id};
use bethink_service_testing as testing;
use bethink_store::{JobRecord, JobState};
use serde_json::{Value, json};

/// Fails the first time with this kind of error.
#[derive(Debug)]
struct FailsOnce {
    kind: ErrorKind,
    runs: Arc<AtomicUsize>,
}

impl JobHandler for FailsOnce {
    fn kind(&self) -> &'static str {
        "test"
    }

    fn run<'a>(&'a self, _: &'a JobRecord, _: &'a JobRunner) -> JobOutput<'a> {
        let is_first = self.runs.fetch_add(1, Ordering::SeqCst) == 0;
        Box::pin(async move {
            match is_first {
                true => Err(ServiceError::new(self.kind, "the first run fails")),
                false => Ok(json!("done")),
            }
        })
    }
}

/// Runs a job that fails once; returns its state at its end, and how often it ran.
async fn ended(kind: ErrorKind) -> (JobState, usize) {
    let home = tempfile::tempdir().unwrap();
    let (cx, runs) = (testing::context(home.path()).await, Arc::default());
    let handler = FailsOnce { kind, runs: Arc::clone(&runs) };
    let runner = JobRunner::new(cx.clone(), vec![Arc::new(handler)]);
    cx.spawn(runner.work());
    let id = new_job_id();
    cx.jobs().enqueue(id, "test", None, &Value::Null).await.unwrap();
    let state = loop {
        let job = cx.store().job(id).await.unwrap();
        if matches!(job.state, JobState::Done | JobState::Failed) {
            break job.state;
        }
        tokio::task::yield_now().await;
    };
    cx.stop().await;
    cx.store().close().await.unwrap();
    (state, runs.load(Ordering::SeqCst))
}

#[tokio::test]
async fn a_job_that_failed_because_of_the_disk_runs_again() {
    for kind in [ErrorKind::StorageFull, ErrorKind::StorageFailed] {
        assert_eq!(ended(kind).await, (JobState::Done, 2), "{kind}");
    }
    assert_eq!(ended(ErrorKind::Invalid).await, (JobState::Failed, 1));
}
