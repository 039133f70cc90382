//! The job runner: one worker that takes leased rows, and knows no kind of job by name.
//!
//! Each kind registers its [`JobHandler`]. A job is resumed after a crash, so its handler may run again from the
//! beginning.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bethink_store::{JobOutcome, JobRecord, JobState, Lease, Progress};
use bethink_transcript::{JobId, Seq, UnixMicros};
use serde_json::Value;

use crate::context::ServiceContext;
use crate::error::Result;
use crate::event::Event;

/// Work of a daemon that holds the home's lock; whoever holds the lock next takes it over.
const OWNER: &str = "home";
/// Without a heartbeat for so long, the work is someone else's. A batch of an import takes milliseconds; a minute is
/// for a disk that hangs.
const LEASE_MICROS: i64 = 60_000_000;
/// Far below the lease, so that a late one does no harm.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Leased so often without an end, a job takes the daemon down with it and is given up.
const MAX_ATTEMPTS: u64 = 5;
/// Background work begins when nothing was appended for so long: a client that imports file after file asks for the
/// next one sooner, and so does an agent in the midst of its work.
const QUIET: Duration = Duration::from_millis(200);
/// It begins after so many waits in any case (5 s), so that a daemon that is never idle gets to it.
const MAX_WAITS: usize = 25;

/// How a run of a job ends: its result as JSON, or what a person is told.
pub type JobOutput<'a> = Pin<Box<dyn Future<Output = Result<Value>> + Send + 'a>>;

/// When a job may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStart {
    AtOnce,
    /// When nothing was appended for a moment.
    WhenIdle,
}

/// What runs the jobs of one kind.
pub trait JobHandler: Send + Sync + std::fmt::Debug + 'static {
    /// The name under which its jobs are leased.
    fn kind(&self) -> &'static str;

    fn start(&self) -> JobStart {
        JobStart::AtOnce
    }

    /// It waits for a model, and holds up no other job meanwhile.
    fn waits_for_model(&self) -> bool {
        false
    }

    fn run<'a>(&'a self, job: &'a JobRecord, runner: &'a JobRunner) -> JobOutput<'a>;

    /// A run beside the others ended, or the daemon stopped it.
    fn left(&self, _job: &JobRecord) {}
}

/// The worker. Clones are of one.
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

    /// Hands unfinished work back, so that the next daemon need not wait for a lease to run out.
    pub async fn release(&self) -> std::result::Result<(), bethink_store::StoreError> {
        self.cx.store().release(OWNER.to_owned()).await
    }

    /// Works until the daemon stops. Wakes when there is something to do, and only then.
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
                    // Whatever is wrong with the store, the next request for work tries again.
                    self.cx.jobs().woken().await;
                }
            }
        }
    }

    /// Work that waits for a model holds up no other.
    fn run_beside(&self, handler: Arc<dyn JobHandler>, job: JobRecord) {
        let runner = self.clone();
        self.cx.spawn(async move {
            let (id, noted) = (job.id, job.clone());
            let closing = runner.cx.closing().clone();
            tokio::select! {
                biased;
                // Taken up again by the next daemon, with its model.
                () = closing.cancelled() => {}
                () = runner.run(job) => {}
                () = runner.keep_lease(id) => {}
            }
            handler.left(&noted);
        });
    }

    /// Never ends while the work is ours.
    async fn keep_lease(&self, id: JobId) {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            if let Err(error) = self.heartbeat(id, Progress::default()).await {
                tracing::warn!(job = %id, %error, "gave up a job: its lease is gone");
                return;
            }
        }
    }

    /// Extends the lease of a job that runs, and notes its progress.
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

    /// Runs what somebody waits for: background work lets it go first, between its own steps.
    pub async fn run_foreground_jobs(&self) {
        let foreground = || Lease { background: false, ..self.lease() };
        // What is wrong with the store will stop the work that calls, too.
        while let Ok(Some(job)) = self.cx.store().lease(foreground()).await {
            self.run_within(job).await;
        }
    }

    /// A job within a job: a future of known size.
    fn run_within(&self, job: JobRecord) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.run(job))
    }

    fn lease(&self) -> Lease {
        let now = self.cx.now();
        let until = UnixMicros(now.0 + LEASE_MICROS);
        Lease { owner: OWNER.to_owned(), background: true, now, until }
    }

    async fn run(&self, job: JobRecord) {
        let outcome = if job.attempts > MAX_ATTEMPTS {
            JobOutcome::Failed(format!("given up after {MAX_ATTEMPTS} attempts"))
        } else if let Some(handler) = self.handlers.get(job.kind.as_str()) {
            match handler.run(&job, self).await {
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
        if let Err(error) = self.cx.store().finish(job.id, owner, outcome, now).await {
            tracing::error!(job = %job.id, %error, "could not record the end of a job; it will run again");
        }
        let event = Event::Job { id: job.id.0, kind: job.kind, state };
        match job.session {
            Some(session) => self.cx.hub().publish(session, Seq::ZERO, &event),
            None => self.cx.hub().announce(None, &event),
        }
    }
}
