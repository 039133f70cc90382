//! The job queue: rows in the store, which are leased and run in the background.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bethink_api as api;
use bethink_store::{JobRecord, JobState, NewJob, Store, StoreError};
use bethink_transcript::{JobId, SessionId};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::clock::{Clock, rfc3339};
use crate::error::{Result, ServiceError};
use crate::page::page_limit;

/// The queue into which services put jobs for the runner.
#[derive(Debug)]
pub struct JobQueue {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    wake: Notify,
    /// Number of appends since the start. While this number grows, the daemon is busy.
    activity: AtomicU64,
}

impl JobQueue {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, wake: Notify::new(), activity: AtomicU64::new(0) }
    }

    pub async fn job(&self, id: JobId) -> Result<api::Job> {
        let mut job = shown(&self.store.job(id).await?);
        if !matches!(job.state, JobState::Done | JobState::Failed) {
            job.error = self.obstacle();
        }
        Ok(job)
    }

    /// Returns why no job can end now. A server that is away is not reported here: then no job can be read, either.
    fn obstacle(&self) -> Option<String> {
        let fault = self.store.fault()?;
        let is_of_the_server = matches!(
            fault,
            StoreError::Server(_) | StoreError::Contended(_) | StoreError::InUse(_)
        );
        (!is_of_the_server).then(|| fault.to_string())
    }

    /// Returns the newest jobs, at most `limit`.
    pub async fn jobs(&self, limit: Option<usize>) -> Result<api::Jobs> {
        let jobs = self.store.jobs(page_limit(limit)?).await?;
        Ok(api::Jobs { jobs: jobs.iter().map(shown).collect() })
    }

    /// Enqueues a requested job and wakes the worker.
    pub async fn enqueue(
        &self,
        id: JobId,
        kind: &str,
        session: Option<SessionId>,
        payload: &Value,
    ) -> Result<api::Job> {
        self.store.enqueue(self.new_job(id, kind, session, payload, false)).await?;
        self.wake();
        self.job(id).await
    }

    /// Enqueues a background job, which runs after all other jobs. The caller wakes the worker.
    pub async fn enqueue_background(
        &self,
        kind: &str,
        session: Option<SessionId>,
        payload: &Value,
    ) -> Result<JobId> {
        let id = new_job_id();
        self.store.enqueue(self.new_job(id, kind, session, payload, true)).await?;
        Ok(id)
    }

    fn new_job(
        &self,
        id: JobId,
        kind: &str,
        session: Option<SessionId>,
        payload: &Value,
        background: bool,
    ) -> NewJob {
        let (kind, payload) = (kind.to_owned(), payload.to_string());
        NewJob { id, kind, session, payload, background, created_at: self.clock.now() }
    }

    pub fn wake(&self) {
        self.wake.notify_one();
    }

    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Records an append. Background jobs wait until there has been no append for a while.
    pub fn note_activity(&self) {
        self.activity.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn activity(&self) -> u64 {
        self.activity.load(Ordering::Relaxed)
    }
}

pub fn new_job_id() -> JobId {
    JobId(Uuid::now_v7())
}

pub fn job_payload<T: DeserializeOwned>(job: &JobRecord) -> Result<T> {
    serde_json::from_str(&job.payload).map_err(ServiceError::internal)
}

/// Returns the session of a job.
pub fn job_session(job: &JobRecord) -> Result<SessionId> {
    let id = job_payload::<Value>(job)?["session"].as_str().and_then(|id| id.parse().ok());
    id.map(SessionId).ok_or_else(|| ServiceError::internal("the job has no session"))
}

fn shown(job: &JobRecord) -> api::Job {
    api::Job {
        id: job.id.0,
        kind: job.kind.clone(),
        state: job.state,
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
