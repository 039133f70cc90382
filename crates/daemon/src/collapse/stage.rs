//! Staging: texts for old spans, written by leased work while it is quiet.

use std::sync::atomic::{AtomicU64, Ordering};

use bethink_compactor::{EmbeddedSpanWriter, SpanRequest, SpanWriter};
use bethink_context::collapse::{Extent, SPAN_PERCENT, STAGE_PERCENT, Stretch, stretches};
use bethink_store::{Job, NewJob, StoreError};
use bethink_transcript::{CollapseId, Role, Seq, SessionId};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Fill, request};
use crate::hot::{HotSession, Slot};
use crate::quiet::quietly;
use crate::{Daemon, Kind, Refusal, Result, jobs};

/// Work of this module, by the name under which it is leased.
pub(crate) const COLLAPSE: &str = "collapse";

/// Tokens of history when staging was last asked for.
#[derive(Debug, Default)]
pub(crate) struct Staging(AtomicU64);

/// A span that is to get a text.
struct Open {
    id: CollapseId,
    stretch: Stretch,
    request: SpanRequest,
}

impl Daemon {
    /// Leaves staging to the worker when the session has grown by half a span since it was last asked
    /// for. Neither waits nor fails.
    pub(crate) fn ask_collapse_gate(&self, slot: &Slot, hot: &HotSession) {
        let newest = hot.history.entries().last();
        let ended = newest.is_some_and(|entry| entry.message.role == Role::Assistant);
        if !self.settings().context.collapse || !ended {
            return;
        }
        let fill = fill(hot);
        let effective = hot.thresholds.effective;
        if fill.tokens * 100 < effective * STAGE_PERCENT {
            return;
        }
        let (grown, asked) = (slot.meter.tokens(), slot.staging.0.load(Ordering::Relaxed));
        let half = fill.estimate(effective) * SPAN_PERCENT / 200;
        // A count that fell is that of a session that was loaded anew.
        if asked > 0 && grown >= asked && grown < asked + half {
            return;
        }
        slot.staging.0.store(grown.max(1), Ordering::Relaxed);
        let (daemon, id) = (self.clone(), slot.id);
        self.spawn(async move {
            if let Err(refusal) = daemon.stage_later(id).await {
                tracing::warn!(session = %id, reason = %refusal.detail, "spans could not be asked for");
            }
            daemon.wake_worker();
        });
    }

    async fn stage_later(&self, id: SessionId) -> Result<()> {
        let new = NewJob {
            id: jobs::new_id(),
            kind: COLLAPSE.to_owned(),
            session: Some(id),
            payload: json!({ "session": id.0 }).to_string(),
            background: true,
            created_at: self.now(),
        };
        Ok(self.store().enqueue(new).await?)
    }

    pub(crate) async fn run_collapse(&self, job: &Job) -> Result<Value> {
        let id = jobs::payload(job)?["session"].as_str().and_then(|id| id.parse().ok());
        let id = id.map(SessionId).ok_or_else(|| Refusal::internal("spans without a session"))?;
        match self.stage(id).await {
            Ok(staged) => Ok(json!({ "staged": staged })),
            // Deleted since.
            Err(refusal) if refusal.kind == Kind::NotFound => Ok(json!({ "staged": 0 })),
            Err(refusal) => {
                tracing::warn!(session = %id, reason = %refusal.detail, "no spans staged");
                Err(refusal)
            }
        }
    }

    /// Writes a text for every old stretch that has none. The session is held only to look at it and to
    /// take the texts in; how many there are now.
    pub(crate) async fn stage(&self, id: SessionId) -> Result<usize> {
        let slot = self.hot(id).await?;
        let open = {
            let hot = slot.lock(self).await?;
            let known: Vec<(Seq, Seq)> =
                hot.spans.iter().map(|row| (row.first_seq, row.last_seq)).collect();
            let window = fill(&hot).estimate(hot.thresholds.effective);
            let found = stretches(&hot.history, &hot.decisions, &known, window, Extent::Full);
            let open = |stretch: &Stretch| {
                let id = CollapseId(Uuid::now_v7());
                Open { id, stretch: *stretch, request: request(&hot, id, *stretch) }
            };
            found.iter().map(open).collect::<Vec<_>>()
        };
        let mut rows = Vec::new();
        let mut texts = Vec::new();
        for Open { id, stretch, request } in open {
            match self.span_text(request).await {
                Ok((text, strategy)) => texts.push((id, stretch, text, strategy)),
                // The span stays as it is.
                Err(refusal) => {
                    tracing::debug!(span = %id, reason = %refusal.detail, "no text for a span");
                }
            }
        }
        let mut hot = slot.lock(self).await?;
        for (id, stretch, text, strategy) in texts {
            rows.extend(self.staged_row(&hot, id, stretch, text, strategy));
        }
        // A prompt that could not wait may have written some of them meanwhile.
        let free = |row: &bethink_store::Collapse| {
            !hot.spans.iter().any(|o| o.first_seq <= row.last_seq && row.first_seq <= o.last_seq)
        };
        rows.retain(free);
        match self.store().put_collapses(id, rows.clone(), Vec::new()).await {
            Ok(()) => {}
            Err(StoreError::Conflict(reason)) => {
                tracing::debug!(session = %id, reason, "spans were staged meanwhile");
                return Ok(0);
            }
            Err(error) => return Err(error.into()),
        }
        hot.spans = self.store().collapses(id).await?;
        metrics::counter!("bethink_collapses_staged_total").increment(rows.len() as u64);
        rows.iter().for_each(|row| self.tell_collapse(row));
        Ok(rows.len())
    }

    /// The text of one span and the strategy that wrote it. A model's writer joins here.
    async fn span_text(&self, request: SpanRequest) -> Result<(String, &'static str)> {
        let writer = EmbeddedSpanWriter;
        let text = quietly(move || writer.write(&request)).await?.map_err(Refusal::internal)?;
        Ok((text, writer.strategy()))
    }
}

/// How full the window is, from what is at hand.
pub(super) fn fill(hot: &HotSession) -> Fill {
    let estimated = hot.view_tokens + hot.fixed_tokens;
    let tokens = hot.learner.calibration().apply(estimated) + hot.learner.unseen();
    Fill { tokens, estimated }
}
