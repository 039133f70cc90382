//! Work after the answer: leased rows, done one at a time, resumed after a crash.

use std::sync::Arc;

use bethink_api as api;
use bethink_store::{Job, JobOutcome, JobState, Lease, NewJob};
use bethink_transcript::{JobId, SessionId, UnixMicros};
use serde_json::Value;
use uuid::Uuid;

use crate::clock::rfc3339;
use crate::{Daemon, Refusal, Result};

/// Without a sign of life for so long, the work is someone else's. A stretch of an import takes
/// milliseconds; a minute is for a disk that hangs.
const LEASE_MICROS: i64 = 60_000_000;
/// Leased so often without an end, a job takes the daemon down with it and is given up.
const MAX_ATTEMPTS: u64 = 5;

impl Daemon {
    pub async fn job(&self, id: JobId) -> Result<api::Job> {
        Ok(out(&self.store().job(id).await?))
    }

    pub(crate) async fn enqueue(
        &self,
        id: JobId,
        kind: &str,
        session: Option<SessionId>,
        payload: &Value,
    ) -> Result<api::Job> {
        let new = NewJob {
            id,
            kind: kind.to_owned(),
            session,
            payload: payload.to_string(),
            created_at: self.now(),
        };
        self.store().enqueue(new).await?;
        self.wake_worker();
        self.job(id).await
    }

    /// Works until the daemon stops. Wakes when there is something to do, and only then.
    pub(crate) async fn work(self, wake: Arc<tokio::sync::Notify>) {
        loop {
            match self.store().lease(self.lease()).await {
                Ok(Some(job)) => {
                    let until_stop = self.stopping();
                    tokio::select! {
                        () = self.run(job) => {}
                        () = until_stop.cancelled() => return,
                    }
                }
                Ok(None) => {
                    tokio::select! {
                        () = wake.notified() => {}
                        () = self.stopping().cancelled_owned() => return,
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "no work could be leased");
                    // Whatever is wrong with the store, the next request for work tries again.
                    tokio::select! {
                        () = wake.notified() => {}
                        () = self.stopping().cancelled_owned() => return,
                    }
                }
            }
        }
    }

    pub(crate) fn lease(&self) -> Lease {
        let now = self.now();
        Lease { owner: self.owner().to_owned(), now, until: UnixMicros(now.0 + LEASE_MICROS) }
    }

    async fn run(&self, job: Job) {
        let outcome = if job.attempts > MAX_ATTEMPTS {
            JobOutcome::Failed(format!("given up after {MAX_ATTEMPTS} attempts"))
        } else {
            match job.kind.as_str() {
                "import" => match self.run_import(&job).await {
                    Ok(result) => JobOutcome::Done(result.to_string()),
                    Err(refusal) => JobOutcome::Failed(refusal.detail),
                },
                other => JobOutcome::Failed(format!("this bethink has no work of kind {other:?}")),
            }
        };
        let state = if matches!(outcome, JobOutcome::Done(_)) { "done" } else { "failed" };
        if let Err(error) =
            self.store().finish(job.id, self.owner().to_owned(), outcome, self.now()).await
        {
            tracing::error!(job = %job.id, %error, "the end of a job was not written; it will run again");
        }
        if let Some(session) = job.session {
            let data =
                serde_json::json!({ "id": job.id.to_string(), "kind": job.kind, "state": state });
            self.hub().publish(session, "job", bethink_transcript::Seq::ZERO, &data);
        }
    }
}

pub(crate) fn new_id() -> JobId {
    JobId(Uuid::now_v7())
}

pub(crate) fn payload(job: &Job) -> Result<Value> {
    serde_json::from_str(&job.payload).map_err(Refusal::internal)
}

fn out(job: &Job) -> api::Job {
    let state = match job.state {
        JobState::Queued => "queued",
        JobState::Running => "running",
        JobState::Done => "done",
        JobState::Failed => "failed",
    };
    api::Job {
        id: job.id.0,
        kind: job.kind.clone(),
        state: state.to_owned(),
        progress: api::JobProgress {
            done: job.progress.done,
            total: job.progress.total,
            unit: job.progress.unit.clone(),
        },
        result: job.result.as_ref().and_then(|r| serde_json::from_str(r).ok()),
        error: job.error.clone(),
        created_at: rfc3339(job.created_at),
        updated_at: rfc3339(job.updated_at),
    }
}
