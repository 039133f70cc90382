//! Staging: a job writes texts for old spans while the session is idle.

use std::sync::atomic::Ordering;

use bethink_compactor::write_span;
use bethink_context::Fill;
use bethink_context::collapse::{
    CollapseExtent, OpenSpan, SPAN_PERCENT, STAGE_PERCENT, spans_without_text,
};
use bethink_service::{
    ErrorKind, JobHandler, JobOutput, JobRunner, JobStart, Result, ServiceError, at_low_priority,
    job_session,
};
use bethink_store::{CollapseRecord, JobRecord, StoreError};
use bethink_transcript::{CollapseId, Role, Seq, SessionId};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{request, row_of, staged_span};
use crate::handle::SessionHandle;
use crate::loaded::LoadedSession;
use crate::service::SessionService;

const COLLAPSE: &str = "collapse";

impl SessionService {
    /// Enqueues staging if the session has grown by half a span since the last time. Neither waits nor fails.
    pub(crate) fn stage_if_due(&self, handle: &SessionHandle, loaded: &LoadedSession) {
        let newest = loaded.state.history.entries().last();
        let ended = newest.is_some_and(|entry| entry.message.role == Role::Assistant);
        if !self.cx.settings().context.collapse || !ended {
            return;
        }
        let fill = fill(loaded);
        let effective = loaded.state.thresholds.effective;
        if fill.tokens * 100 < effective * STAGE_PERCENT {
            return;
        }
        let (grown, asked) = (loaded.grown, handle.staging.load(Ordering::Relaxed));
        let half = fill.estimate(effective) * SPAN_PERCENT / 200;
        // A smaller count means that the session was reloaded.
        if asked > 0 && grown >= asked && grown < asked + half {
            return;
        }
        handle.staging.store(grown.max(1), Ordering::Relaxed);
        let (sessions, id, here) = (self.clone(), handle.id, handle.use_guard());
        self.cx.spawn(async move {
            let _hold = here;
            let (jobs, payload) = (sessions.cx.jobs(), json!({ "session": id.0 }));
            if let Err(error) = jobs.enqueue_background(COLLAPSE, Some(id), &payload).await {
                tracing::warn!(
                    session = %id,
                    reason = %error.detail,
                    "could not enqueue the job that writes short texts for old messages"
                );
            }
            jobs.wake();
        });
    }

    async fn run_collapse(&self, job: &JobRecord) -> Result<Value> {
        let id = job_session(job)?;
        match self.stage(id).await {
            Ok(staged) => Ok(json!({ "staged": staged })),
            // The session was deleted meanwhile.
            Err(refusal) if refusal.kind == ErrorKind::NotFound => Ok(json!({ "staged": 0 })),
            Err(refusal) => {
                tracing::warn!(session = %id, reason = %refusal.detail, "could not prepare the short texts for old messages");
                Err(refusal)
            }
        }
    }

    /// Writes a text for every old span that has none, and returns how many were staged. The session is locked only to
    /// read it and to store the texts.
    pub(crate) async fn stage(&self, id: SessionId) -> Result<usize> {
        let handle = self.handle(id).await?;
        let open = {
            let loaded = self.lock(&handle).await?;
            let known: Vec<(Seq, Seq)> =
                loaded.spans.iter().map(|row| (row.first_seq, row.last_seq)).collect();
            let window = fill(&loaded).estimate(loaded.state.thresholds.effective);
            let found = spans_without_text(
                &loaded.state.history,
                &loaded.state.decisions,
                &known,
                window,
                CollapseExtent::Full,
            );
            let open = |span: &OpenSpan| {
                let id = CollapseId(Uuid::now_v7());
                (id, *span, request(&loaded.state, id, *span))
            };
            found.iter().map(open).collect::<Vec<_>>()
        };
        let mut texts = Vec::new();
        for (id, span, request) in open {
            let written = at_low_priority(move || write_span(&request)).await;
            match written.and_then(|text| text.map_err(ServiceError::internal)) {
                Ok(text) => texts.push((id, span, text)),
                Err(refusal) => {
                    tracing::debug!(span = %id, reason = %refusal.detail, "could not summarize a span of messages");
                }
            }
        }
        let mut loaded = self.lock(&handle).await?;
        let spans = texts.into_iter().filter_map(|(id, span, text)| staged_span(id, span, text));
        let mut rows: Vec<CollapseRecord> =
            spans.map(|span| row_of(&loaded, &span, self.cx.now())).collect();
        // A prompt that could not wait may have written some of them meanwhile.
        let free = |row: &CollapseRecord| {
            !loaded.spans.iter().any(|o| o.first_seq <= row.last_seq && row.first_seq <= o.last_seq)
        };
        rows.retain(free);
        match self.cx.store().put_collapses(id, rows.clone(), Vec::new()).await {
            Ok(()) => {}
            Err(StoreError::Conflict(reason)) => {
                tracing::debug!(session = %id, reason, "some of these messages were collapsed in the meantime");
                return Ok(0);
            }
            Err(error) => return Err(error.into()),
        }
        loaded.spans = self.cx.store().collapses(id).await?;
        metrics::counter!("bethink_collapses_staged_total").increment(rows.len() as u64);
        rows.iter().for_each(|row| self.publish_collapse(row));
        Ok(rows.len())
    }
}

/// Returns how full the window is, from data in memory.
fn fill(loaded: &LoadedSession) -> Fill {
    let estimated = loaded.estimated();
    let tokens =
        loaded.state.learner.calibration().apply(estimated) + loaded.state.learner.unseen();
    Fill { tokens, estimated }
}

#[derive(Debug)]
pub struct CollapseJob(pub SessionService);

impl JobHandler for CollapseJob {
    fn kind(&self) -> &'static str {
        COLLAPSE
    }

    fn start(&self) -> JobStart {
        JobStart::WhenIdle
    }

    fn run<'a>(&'a self, job: &'a JobRecord, _: &'a JobRunner) -> JobOutput<'a> {
        Box::pin(self.0.run_collapse(job))
    }
}
