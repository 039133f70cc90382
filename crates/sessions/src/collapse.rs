//! Context collapse: old spans of a session are shown as short texts, which are prepared in the background and used
//! when the window fills up. Collapse is off by default.
//!
//! Reading order: here (which spans a turn may collapse, and how the chosen spans are stored) → `stage` (texts are
//! written while the session is idle) → `expand` (spans and their messages for clients).

mod expand;
mod stage;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bethink_api as api;
use bethink_compactor::{SPAN_AFTER, SPAN_STRATEGY, SpanRequest, write_span};
use bethink_context::collapse::{OpenSpan, TEXT_PERCENT};
use bethink_context::{
    CollapsePlan, CollapsePolicy, Collapsed, Decision, Fill, Hints, SessionState, StagedSpan,
    drain_collapses,
};
use bethink_service::{Event, Result};
use bethink_store::CollapseRecord;
use bethink_tokens::text_tokens;
use bethink_transcript::{CollapseId, Message, Seq, UnixMicros};
use uuid::Uuid;

use crate::decisions::new_decisions;
use crate::loaded::LoadedSession;
use crate::service::{SessionEvent, SessionService};

pub use stage::CollapseJob;

impl SessionService {
    /// Returns the spans that a prompt may collapse; `None` if collapse is off.
    pub(crate) fn collapse_policy<'a>(
        &self,
        write: &'a dyn Fn(OpenSpan) -> Option<StagedSpan>,
        loaded: &LoadedSession,
    ) -> Option<CollapsePolicy<'a>> {
        let is_on = self.cx.settings().context.collapse;
        is_on.then(|| CollapsePolicy { staged: staged(loaded), write })
    }

    /// Commits all staged spans, because the provider rejected the prompt as too long. Returns `false` if that changes
    /// nothing.
    pub(crate) async fn drain(&self, loaded: &mut LoadedSession) -> Result<bool> {
        let estimated = loaded.estimated();
        let tokens = loaded.state.learner.calibration().apply(estimated);
        let fill = Fill { tokens, estimated };
        let state = &loaded.state;
        let (history, decisions) = (&state.history, &state.decisions);
        let plan = drain_collapses(history, decisions, &state.thresholds, fill, staged(loaded));
        let Some(plan) = plan else { return Ok(false) };
        let records = plan.records(loaded.session.last_seq);
        self.keep_collapsed(loaded, &plan, &records, self.cx.now()).await?;
        let state = &mut loaded.state;
        for record in &records {
            state.decisions.apply(record, &state.history);
        }
        // The calls that showed the todo list may have left the view, so the list is shown again.
        state.todos.changed = !state.todos.items.is_empty();
        Ok(true)
    }

    /// Stores the spans and all decisions of the turn that shows them, in one transaction.
    pub(crate) async fn keep_collapsed(
        &self,
        loaded: &mut LoadedSession,
        plan: &CollapsePlan,
        records: &[Decision],
        now: UnixMicros,
    ) -> Result<()> {
        let id = loaded.session.id;
        let with = new_decisions(loaded, records, now)?;
        let rows: Vec<CollapseRecord> = plan
            .spans
            .iter()
            .map(|staged| {
                let known = loaded.spans.iter().find(|row| row.id == staged.span.id).cloned();
                let row = known.unwrap_or_else(|| row_of(loaded, staged, now));
                let committed = plan.is_chosen(staged).then_some((loaded.session.last_seq, now));
                CollapseRecord { committed, ..row }
            })
            .collect();
        self.cx.store().put_collapses(id, rows, with).await?;
        self.tell(&SessionEvent::Decided { session: id });
        loaded.spans = self.cx.store().collapses(id).await?;
        let chosen = loaded.spans.iter().filter(|row| plan.chosen.contains(&row.id));
        for row in chosen {
            metrics::counter!("bethink_collapses_committed_total").increment(1);
            self.publish_collapse(row);
        }
        Ok(())
    }

    fn publish_collapse(&self, row: &CollapseRecord) {
        let covers = api::Covers { first_seq: row.first_seq.0, last_seq: row.last_seq.0 };
        let event = Event::Collapse { id: row.id.0, covers, state: row.state() };
        self.cx.hub().publish(row.session, row.last_seq, &event);
    }
}

/// Writes a span's text at once; returns `None` if the text would not be shorter.
pub(crate) fn write_now(state: &SessionState, span: OpenSpan) -> Option<StagedSpan> {
    let id = CollapseId(Uuid::now_v7());
    let text = write_span(&request(state, id, span)).ok()?;
    staged_span(id, span, text)
}

fn staged_span(id: CollapseId, span: OpenSpan, text: String) -> Option<StagedSpan> {
    let (tokens, OpenSpan { first, last, tokens: tokens_before }) = (text_tokens(&text), span);
    let span = Collapsed { id, first, last, text, tokens, made_after: Seq::ZERO };
    (u64::from(tokens) < tokens_before).then_some(StagedSpan { span, tokens_before })
}

fn row_of(loaded: &LoadedSession, staged: &StagedSpan, now: UnixMicros) -> CollapseRecord {
    let StagedSpan { span, tokens_before } = staged;
    CollapseRecord {
        id: span.id,
        session: loaded.session.id,
        first_seq: span.first,
        last_seq: span.last,
        tokens_before: *tokens_before,
        tokens: u64::from(span.tokens),
        text: span.text.clone(),
        strategy: SPAN_STRATEGY.to_owned(),
        staged_after: loaded.session.last_seq,
        staged_at: now,
        committed: None,
    }
}

/// Returns the spans that are staged but not committed.
fn staged(loaded: &LoadedSession) -> Vec<StagedSpan> {
    let open = loaded.spans.iter().filter(|row| row.committed.is_none());
    open.map(|row| StagedSpan {
        span: Collapsed {
            id: row.id,
            first: row.first_seq,
            last: row.last_seq,
            text: row.text.clone(),
            tokens: u32::try_from(row.tokens).unwrap_or(u32::MAX),
            made_after: Seq::ZERO,
        },
        tokens_before: row.tokens_before,
    })
    .collect()
}

/// Makes the request for a span's text, with some of the messages that follow the span.
fn request(state: &SessionState, id: CollapseId, span: OpenSpan) -> SpanRequest {
    let entries = state.history.from(span.first);
    let (within, after) =
        entries.split_at(entries.partition_point(|entry| entry.message.seq <= span.last));
    let messages = |entries: &[bethink_context::HistoryEntry]| -> Vec<Arc<Message>> {
        entries.iter().map(|entry| Arc::clone(&entry.message)).collect()
    };
    // An estimated token has three bytes.
    let bytes = span.tokens * TEXT_PERCENT / 100 * 3;
    SpanRequest {
        id,
        messages: messages(within),
        after: messages(after.get(..SPAN_AFTER).unwrap_or(after)),
        max_bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        hints: Hints { session: state.id.to_string() },
    }
}
