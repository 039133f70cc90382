//! Work after the answer: leased rows, done one at a time, resumed after a crash.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bethink_api as api;
use bethink_store::{Job, JobOutcome, JobState, Lease, NewJob, Progress};
use bethink_transcript::{JobId, SessionId, UnixMicros};
use serde_json::Value;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::clock::rfc3339;
use crate::collapse::COLLAPSE;
use crate::extract::EXTRACT;
use crate::forks::FORK_CHECK;
use crate::index::INDEX;
use crate::memory::DREAM;
use crate::notes::NOTES;
use crate::sessions::page_limit;
use crate::{Daemon, Refusal, Result};

/// Without a sign of life for so long, the work is someone else's. A stretch of an import takes
/// milliseconds; a minute is for a disk that hangs.
const LEASE_MICROS: i64 = 60_000_000;
/// Far below the lease, so that one that comes late is no harm.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// Leased so often without an end, a job takes the daemon down with it and is given up.
const MAX_ATTEMPTS: u64 = 5;
/// Work in the background begins when nothing was asked for so long: one who imports file after file
/// asks for the next one sooner, and so does an agent in the midst of its work.
const QUIET: Duration = Duration::from_millis(200);
/// It begins after so many waits in any case (5 s), lest a daemon that is never quiet never gets to it.
const MOST_WAITS: usize = 25;

impl Daemon {
    pub async fn job(&self, id: JobId) -> Result<api::Job> {
        Ok(out(&self.store().job(id).await?))
    }

    /// The newest jobs, at most so many, whoever wanted them.
    pub async fn jobs(&self, limit: Option<usize>) -> Result<api::Jobs> {
        let jobs = self.store().jobs(page_limit(limit)?).await?;
        Ok(api::Jobs { jobs: jobs.iter().map(out).collect() })
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
            background: false,
            created_at: self.now(),
        };
        self.store().enqueue(new).await?;
        self.wake_worker();
        self.job(id).await
    }

    /// Works until the daemon stops. Wakes when there is something to do, and only then.
    pub(crate) async fn work(self, wake: Arc<Notify>) {
        let stopped = self.stopping().cancelled_owned();
        tokio::select! {
            () = self.work_on(&wake) => {}
            () = stopped => {}
        }
    }

    async fn work_on(&self, wake: &Notify) {
        loop {
            match self.store().lease(self.lease()).await {
                Ok(Some(job)) => {
                    if [INDEX, NOTES, COLLAPSE, EXTRACT].contains(&job.kind.as_str()) {
                        self.wait_for_quiet(wake).await;
                    }
                    if self.waits_for_model(&job.kind) {
                        self.run_beside(job);
                    } else {
                        self.run(job).await;
                    }
                }
                Ok(None) => wake.notified().await,
                Err(error) => {
                    tracing::warn!(%error, "no work could be leased");
                    // Whatever is wrong with the store, the next request for work tries again.
                    wake.notified().await;
                }
            }
        }
    }

    fn waits_for_model(&self, kind: &str) -> bool {
        match kind {
            NOTES => self.settings().model.notes_by_model(),
            EXTRACT => self.extracts_by_model(),
            DREAM => self.dreams_by_model(),
            _ => false,
        }
    }

    /// Work that waits for a model holds up no other.
    fn run_beside(&self, job: Job) {
        let daemon = self.clone();
        self.spawn(async move {
            let (id, closed) = (job.id, daemon.models().closed());
            let noted = job.session.filter(|_| job.kind == NOTES);
            tokio::select! {
                biased;
                // Taken up again by the next daemon, with its model.
                () = closed.cancelled() => {}
                () = daemon.run(job) => {}
                () = daemon.keep_lease(id) => {}
            }
            if let Some(session) = noted {
                daemon.notes_desk().flights.leave(session);
            }
        });
    }

    /// Never ends while the work is ours.
    async fn keep_lease(&self, id: JobId) {
        loop {
            tokio::time::sleep(SIGN_OF_LIFE).await;
            let kept = self.store().heartbeat(id, self.lease(), Progress::default()).await;
            if let Err(error) = kept {
                tracing::warn!(job = %id, %error, "work was given up: its lease is gone");
                return;
            }
        }
    }

    async fn wait_for_quiet(&self, wake: &Notify) {
        for _ in 0..MOST_WAITS {
            self.run_what_is_waited_for().await;
            let appends = self.appends();
            let woken = tokio::time::timeout(QUIET, wake.notified()).await.is_ok();
            if !woken && self.appends() == appends {
                return;
            }
        }
    }

    /// Work in the background lets all other work go first, between its own steps.
    pub(crate) async fn run_what_is_waited_for(&self) {
        let only = || Lease { background: false, ..self.lease() };
        // What is wrong with the store will stop the work that calls, too.
        while let Ok(Some(job)) = self.store().lease(only()).await {
            self.run_within(job).await;
        }
    }

    /// Work within work: a future of a size that is known.
    fn run_within(&self, job: Job) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.run(job))
    }

    pub(crate) fn lease(&self) -> Lease {
        let now = self.now();
        Lease {
            owner: self.owner().to_owned(),
            background: true,
            now,
            until: UnixMicros(now.0 + LEASE_MICROS),
        }
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
                FORK_CHECK => match self.run_fork_check(&job).await {
                    Ok(result) => JobOutcome::Done(result.to_string()),
                    Err(refusal) => JobOutcome::Failed(refusal.detail),
                },
                NOTES => match self.run_notes(&job).await {
                    Ok(result) => JobOutcome::Done(result.to_string()),
                    Err(refusal) => JobOutcome::Failed(refusal.detail),
                },
                COLLAPSE => match self.run_collapse(&job).await {
                    Ok(result) => JobOutcome::Done(result.to_string()),
                    Err(refusal) => JobOutcome::Failed(refusal.detail),
                },
                DREAM => match Box::pin(self.run_dream(&job)).await {
                    Ok(result) => JobOutcome::Done(result.to_string()),
                    Err(refusal) => JobOutcome::Failed(refusal.detail),
                },
                EXTRACT => match Box::pin(self.run_extract(&job)).await {
                    Ok(result) => JobOutcome::Done(result.to_string()),
                    Err(refusal) => JobOutcome::Failed(refusal.detail),
                },
                INDEX => match self.run_index(&job).await {
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
        let data =
            serde_json::json!({ "id": job.id.to_string(), "kind": job.kind, "state": state });
        self.tell(job.session, "job", &data);
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
