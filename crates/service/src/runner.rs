//! The job runner: a worker that leases jobs and runs their handlers.
//!
//! Each kind of job registers a [`JobHandler`]. A job is resumed after a crash, so its handler may run again from the
//! start.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bethink_store::{JobOutcome, JobRecord, JobState, Lease, Progress, StoreError, StoreResult};
use bethink_transcript::{JobId, Seq, UnixMicros};
use serde_json::Value;

use crate::context::ServiceContext;
use crate::error::{Result, ServiceError};
use crate::event::Event;

/// The owner of all leases. It is the same for every daemon of a home, so that the next daemon can take the leases
/// over.
const OWNER: &str = "home";
/// How long a lease lasts without a heartbeat. A batch of an import takes milliseconds; a minute allows for a slow disk.
const LEASE_MICROS: i64 = 60_000_000;
/// Time between heartbeats. It is much shorter than the lease, so that a late heartbeat does no harm.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Maximum number of times that a job is started. A job that still has not ended probably crashes the daemon, and is
/// given up.
const MAX_ATTEMPTS: u64 = 5;
/// How long to wait before a job that failed because of the disk may run again.
const AFTER_DISK_FAULT: Duration = Duration::from_secs(1);
/// A background job starts only after nothing has been appended for this long. An agent at work, or a client that
/// imports several files, appends more often.
const QUIET: Duration = Duration::from_millis(200);
/// After this many waits of length [`QUIET`] (5 s in total), a background job also runs in a daemon that is never idle.
const MAX_WAITS: usize = 25;

/// A future with the result of a job as JSON, or with an error to show to the user.
pub type JobOutput<'a> = Pin<Box<dyn Future<Output = Result<Value>> + Send + 'a>>;

/// When a job may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStart {
    AtOnce,
    /// After nothing was appended for a while.
    WhenIdle,
}

/// Runs the jobs of one kind.
pub trait JobHandler: Send + Sync + std::fmt::Debug + 'static {
    /// Returns the kind of the jobs that it runs.
    fn kind(&self) -> &'static str;

    fn start(&self) -> JobStart {
        JobStart::AtOnce
    }

    /// Returns whether these jobs wait for a model. Such jobs run concurrently, so that they do not block others.
    fn waits_for_model(&self) -> bool {
        false
    }

    fn run<'a>(&'a self, job: &'a JobRecord, runner: &'a JobRunner) -> JobOutput<'a>;

    /// Called when a concurrent run has ended, or the daemon has stopped it.
    fn left(&self, _job: &JobRecord) {}
}

/// The worker that runs jobs.
#[derive(Clone, Debug)]
pub struct JobRunner {
    cx: ServiceContext,
    handlers: Arc<HashMap<&'static str, Arc<dyn JobHandler>>>,
}

impl JobRunner {
    pub fn new(cx: ServiceContext, handlers: Vec<Arc<dyn JobHandler>>) -> Self {
        let handlers = handlers.into_iter().map(|handler| (handler.kind(), handler)).collect();
        Self { cx, handlers: Arc::new(handlers) }
    }

    /// Releases unfinished jobs, so that the next daemon need not wait until leases expire.
    pub async fn release(&self) -> std::result::Result<(), StoreError> {
        self.cx.store().release(OWNER.to_owned()).await
    }

    /// Runs jobs until the daemon stops. Sleeps while there is no job.
    pub async fn work(self) {
        let stopped = self.cx.stopping().clone().cancelled_owned();
        tokio::select! {
            () = self.work_on() => {}
            () = stopped => {}
        }
    }

    async fn work_on(&self) {
        loop {
            match self.cx.store().lease(self.lease()).await {
                Ok(Some(job)) => {
                    let handler = self.handlers.get(job.kind.as_str());
                    if handler.is_some_and(|handler| handler.start() == JobStart::WhenIdle) {
                        self.wait_until_idle().await;
                    }
                    match handler {
                        Some(handler) if handler.waits_for_model() => {
                            self.run_beside(Arc::clone(handler), job);
                        }
                        _ => self.run(job).await,
                    }
                }
                Ok(None) => self.cx.jobs().woken().await,
                Err(error) => {
                    tracing::warn!(%error, "could not lease a job");
                    // The store failed; the next enqueued job tries again.
                    self.cx.jobs().woken().await;
                }
            }
        }
    }

    /// Runs a job that waits for a model concurrently, so that it does not block others.
    fn run_beside(&self, handler: Arc<dyn JobHandler>, job: JobRecord) {
        let runner = self.clone();
        self.cx.spawn(async move {
            let (id, noted) = (job.id, job.clone());
            let closing = runner.cx.closing().clone();
            tokio::select! {
                biased;
                // The next daemon resumes it.
                () = closing.cancelled() => {}
                () = runner.run(job) => {}
                () = runner.keep_lease(id) => {}
            }
            handler.left(&noted);
        });
    }

    /// Renews the lease until it is lost, and returns only then.
    async fn keep_lease(&self, id: JobId) {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            if let Err(error) = self.heartbeat(id, Progress::default()).await {
                tracing::warn!(job = %id, %error, "stopped a job, because its lease could not be renewed");
                return;
            }
        }
    }

    /// Extends the lease of a running job, and records its progress.
    pub async fn heartbeat(&self, job: JobId, progress: Progress) -> Result<()> {
        Ok(self.cx.store().heartbeat(job, self.lease(), progress).await?)
    }

    async fn wait_until_idle(&self) {
        for _ in 0..MAX_WAITS {
            self.run_foreground_jobs().await;
            let before = self.cx.jobs().activity();
            let woken = tokio::time::timeout(QUIET, self.cx.jobs().woken()).await.is_ok();
            if !woken && self.cx.jobs().activity() == before {
                return;
            }
        }
    }

    /// Runs all requested jobs. Background jobs call this between their steps.
    pub async fn run_foreground_jobs(&self) {
        let foreground = || Lease { background: false, ..self.lease() };
        // If the store fails, the calling job fails too.
        while let Ok(Some(job)) = self.cx.store().lease(foreground()).await {
            self.run_within(job).await;
        }
    }

    /// Runs a job within a job. The future is boxed, because it would otherwise contain itself.
    fn run_within(&self, job: JobRecord) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.run(job))
    }

    fn lease(&self) -> Lease {
        let now = self.cx.now();
        let until = UnixMicros(now.0 + LEASE_MICROS);
        Lease { owner: OWNER.to_owned(), background: true, now, until }
    }

    /// Reruns a job that failed because of the disk, as soon as the job's row can be written.
    fn run_later(&self, job: JobId, error: &ServiceError) {
        tracing::warn!(%job, reason = %error.detail, "a job failed because of the disk; it will run again");
        self.cx.storage().suspect(error);
        let runner = self.clone();
        self.cx.spawn(async move {
            let stopped = runner.cx.stopping().clone();
            tokio::select! {
                () = runner.end_lease(job) => runner.cx.jobs().wake(),
                // The next daemon resumes it.
                () = stopped.cancelled() => {}
            }
        });
    }

    async fn end_lease(&self, job: JobId) {
        loop {
            tokio::time::sleep(AFTER_DISK_FAULT).await;
            match self.try_to_end_lease(job).await {
                Err(error) if error.is_of_the_disk() => {}
                // Either the lease was ended, or the job no longer exists.
                _ => return,
            }
        }
    }

    async fn try_to_end_lease(&self, job: JobId) -> StoreResult<()> {
        let progress = self.cx.store().job(job).await?.progress;
        let ended = Lease { until: UnixMicros(self.cx.now().0 - 1), ..self.lease() };
        self.cx.store().heartbeat(job, ended, progress).await
    }

    async fn run(&self, job: JobRecord) {
        let handler = self.handlers.get(job.kind.as_str());
        let asks_model = handler.is_some_and(|handler| handler.waits_for_model());
        let outcome = if job.attempts > MAX_ATTEMPTS {
            JobOutcome::Failed(format!("gave up after {MAX_ATTEMPTS} attempts"))
        } else if let Some(handler) = handler {
            match handler.run(&job, self).await {
                // A job that calls a model does not run again: each run could cost money, and the next turn enqueues it
                // anyway.
                Err(error) if error.kind.is_of_the_disk() && !asks_model => {
                    return self.run_later(job.id, &error);
                }
                Ok(result) => JobOutcome::Done(result.to_string()),
                Err(error) => JobOutcome::Failed(error.detail),
            }
        } else {
            JobOutcome::Failed(format!(
                "this version of bethink does not know jobs of kind {:?}",
                job.kind
            ))
        };
        let state = match outcome {
            JobOutcome::Done(_) => JobState::Done,
            JobOutcome::Failed(_) => JobState::Failed,
        };
        let (owner, now) = (OWNER.to_owned(), self.cx.now());
        let store = self.cx.store();
        match store.finish(job.id, owner, outcome, now).await {
            Ok(()) => {}
            Err(StoreError::Conflict(_) | StoreError::NotFound { .. }) if store.is_shared() => {
                // It moved to another daemon with its session, and runs there.
                tracing::debug!(job = %job.id, "another daemon took a job while it ran");
                return;
            }
            // Without this, nothing would wake the runner when the lease ends.
            Err(error) if error.is_of_the_disk() && !asks_model => {
                return self.run_later(job.id, &error.into());
            }
            Err(error) => {
                tracing::error!(job = %job.id, %error, "could not record a job's outcome; the job will run again");
            }
        }
        let event = Event::Job { id: job.id.0, kind: job.kind, state };
        match job.session {
            Some(session) => self.cx.hub().publish(session, Seq::ZERO, &event),
            None => self.cx.hub().announce(None, &event),
        }
    }
}
