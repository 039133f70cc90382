//! Context collapse: old spans of a session shown as short texts, prepared in the background and used
//! when the window fills up. Off unless it is set.
//!
//! Reading order: `stage` (texts written while it is quiet) → here (used in a prompt, or drained after an
//! overflow) → `behind` (listed and looked behind).

mod behind;
mod stage;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bethink_compactor::{EmbeddedSpanWriter, SPAN_AFTER, SpanRequest, SpanWriter};
use bethink_context::collapse::{
    BLOCK_PERCENT, COMMIT_PERCENT, Extent, Stretch, TEXT_PERCENT, UNTIL_PERCENT, WORTH_PERCENT,
    Wanted, choose, stretches,
};
use bethink_context::{Collapsed, Decision, Decisions, Hints, StageReport, Thresholds};
use bethink_store::{Collapse, NewDecision};
use bethink_transcript::{CollapseId, Message, Seq};
use uuid::Uuid;

use crate::hot::{HotSession, Slot, tokens};
use crate::{Daemon, Refusal, Result};

pub(crate) use stage::{COLLAPSE, Staging};

/// How full the window is: tokens as they are counted, and as they were estimated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) tokens: u64,
    pub(crate) estimated: u64,
}

impl Fill {
    /// Counted tokens in the unit of the estimate.
    fn estimate(&self, counted: u64) -> u64 {
        let wide = u128::from(counted) * u128::from(self.estimated.max(1))
            / u128::from(self.tokens.max(1));
        u64::try_from(wide).unwrap_or(u64::MAX)
    }
}

/// Spans to be shown from now on.
#[derive(Debug)]
pub(crate) struct Commit {
    /// With those that were only just written.
    rows: Vec<Collapse>,
    records: Vec<Decision>,
    stage: StageReport,
}

impl Commit {
    fn freed(&self) -> u64 {
        self.stage.tokens_before.saturating_sub(self.stage.tokens_after)
    }

    /// What the spans make of a view, to look at only.
    pub(crate) fn shown_in(self, hot: &HotSession, decisions: &mut Decisions) -> StageReport {
        for record in &self.records {
            decisions.apply(record, &hot.history, &tokens);
        }
        self.stage
    }
}

impl Daemon {
    /// Where compaction comes in: at the end of the window while collapses keep the prompt small.
    pub(crate) fn compacts_at(&self, hot: &HotSession) -> Thresholds {
        let thresholds = hot.thresholds;
        match self.settings().context.collapse {
            true => Thresholds { auto: thresholds.blocking, ..thresholds },
            false => thresholds,
        }
    }

    /// The stage of a prompt: commits what is staged where it is due, and writes what is missing. What it
    /// answers is durable, and `decisions` show it.
    pub(crate) async fn collapse(
        &self,
        hot: &mut HotSession,
        decisions: &mut Decisions,
        fill: Fill,
    ) -> Result<Option<StageReport>> {
        if !self.settings().context.collapse {
            return Ok(None);
        }
        let due = tokio::task::block_in_place(|| self.collapses_due(hot, decisions, fill));
        let Some(due) = due else { return Ok(None) };
        self.commit(hot, &due).await?;
        Ok(Some(due.shown_in(hot, decisions)))
    }

    /// What the stage would do; changes nothing.
    pub(crate) fn collapses_due(
        &self,
        hot: &HotSession,
        decisions: &Decisions,
        fill: Fill,
    ) -> Option<Commit> {
        let effective = hot.thresholds.effective;
        let is_over = |tokens: u64, percent: u64| tokens * 100 >= effective * percent;
        if !self.settings().context.collapse || !is_over(fill.tokens, COMMIT_PERCENT) {
            return None;
        }
        let window = fill.estimate(effective);
        let wanted = fill.estimate(fill.tokens.saturating_sub(effective * UNTIL_PERCENT / 100));
        let mut rows = staged(hot);
        let spans: Vec<Collapsed> = rows.iter().map(|row| shown(row, hot)).collect();
        let (_, freed) = choose(&hot.history, decisions, &spans, window, Wanted::Free(wanted));
        let enough = fill.estimate(fill.tokens * 100 - effective * COMMIT_PERCENT) / 100;
        if is_over(fill.tokens, BLOCK_PERCENT) && freed < enough {
            // Nobody can wait for the background any more.
            let known: Vec<(Seq, Seq)> = rows.iter().map(|r| (r.first_seq, r.last_seq)).collect();
            let missing = stretches(&hot.history, decisions, &known, window, Extent::Any);
            let write = |stretch: &Stretch| self.written_now(hot, *stretch, &EmbeddedSpanWriter);
            rows.extend(missing.iter().filter_map(write));
        }
        let why = format!("the prompt reached {COMMIT_PERCENT}% of the effective window");
        self.commit_of(hot, decisions, rows, window, Wanted::Free(wanted), why)
            .filter(|commit| commit.freed() * 100 >= window * WORTH_PERCENT)
    }

    /// Commits all that is staged: the provider says that the prompt is too long. `false` when that
    /// changes nothing.
    pub(crate) async fn drain_collapses(&self, _slot: &Slot, hot: &mut HotSession) -> Result<bool> {
        let scale = hot.learner.calibration();
        let estimated = hot.view_tokens + hot.fixed_tokens;
        let fill = Fill { tokens: scale.apply(estimated), estimated };
        let window = fill.estimate(hot.thresholds.effective);
        let why = "the provider refused a prompt that was too long".to_owned();
        let (rows, decisions) = (staged(hot), hot.decisions.clone());
        let all = self.commit_of(hot, &decisions, rows, window, Wanted::All, why);
        let Some(all) = all else { return Ok(false) };
        self.commit(hot, &all).await?;
        Ok(true)
    }

    fn commit_of(
        &self,
        hot: &HotSession,
        decisions: &Decisions,
        rows: Vec<Collapse>,
        window: u64,
        wanted: Wanted,
        why: String,
    ) -> Option<Commit> {
        let spans: Vec<Collapsed> = rows.iter().map(|row| shown(row, hot)).collect();
        let (chosen, freed) = choose(&hot.history, decisions, &spans, window, wanted);
        if chosen.is_empty() {
            return None;
        }
        let after: u64 = chosen.iter().map(|span| u64::from(span.tokens)).sum();
        let stage = StageReport {
            stage: "collapse",
            tokens_before: after + freed,
            tokens_after: after,
            touched: chosen.iter().map(|s| format!("messages {} to {}", s.first, s.last)).collect(),
            why,
        };
        let at = Some((hot.session.last_seq, self.now()));
        let is_chosen = |row: &Collapse| chosen.iter().any(|span| span.id == row.id);
        let records = chosen.iter().map(|span| Decision::Collapsed((*span).clone())).collect();
        let rows = rows
            .into_iter()
            .map(|row| if is_chosen(&row) { Collapse { committed: at, ..row } } else { row })
            .collect();
        Some(Commit { rows, records, stage })
    }

    /// One transaction; then the session's own decisions, so that they are never behind the store.
    async fn commit(&self, hot: &mut HotSession, commit: &Commit) -> Result<()> {
        let id = hot.session.id;
        let (made_after, created_at) = (hot.session.last_seq, self.now());
        let with = commit
            .records
            .iter()
            .map(|record| {
                let (kind, data) = (record.kind().to_owned(), serde_json::to_string(record));
                let data = data.map_err(Refusal::internal)?;
                Ok(NewDecision { kind, data, made_after, created_at })
            })
            .collect::<Result<_>>()?;
        self.store().put_collapses(id, commit.rows.clone(), with).await?;
        let mut decisions = hot.decisions.clone();
        for record in &commit.records {
            decisions.apply(record, &hot.history, &tokens);
        }
        self.gateway().edited(id);
        hot.decided(decisions);
        hot.spans = self.store().collapses(id).await?;
        // The list is news again: the calls that showed it may have left the view.
        hot.todos.changed = !hot.todos.list.is_empty();
        let count = commit.records.len() as u64;
        metrics::counter!("bethink_collapses_committed_total").increment(count);
        for row in commit.rows.iter().filter(|row| row.committed.is_some()) {
            self.tell_collapse(row);
        }
        Ok(())
    }

    fn tell_collapse(&self, row: &Collapse) {
        let data = serde_json::json!({
            "id": row.id, "covers": { "first_seq": row.first_seq, "last_seq": row.last_seq },
            "state": row.state(),
        });
        self.hub().publish(row.session, "collapse", row.last_seq, &data);
    }

    /// The stretch with its text; `None` where a text would not be shorter.
    fn written_now(
        &self,
        hot: &HotSession,
        stretch: Stretch,
        writer: &dyn SpanWriter,
    ) -> Option<Collapse> {
        let id = CollapseId(Uuid::now_v7());
        let text = writer.write(&request(hot, id, stretch)).ok()?;
        self.staged_row(hot, id, stretch, text, writer.strategy())
    }

    fn staged_row(
        &self,
        hot: &HotSession,
        id: CollapseId,
        stretch: Stretch,
        text: String,
        strategy: &str,
    ) -> Option<Collapse> {
        let size = u64::from(tokens(&text));
        (size < stretch.tokens).then(|| Collapse {
            id,
            session: hot.session.id,
            first_seq: stretch.first,
            last_seq: stretch.last,
            tokens_before: stretch.tokens,
            tokens: size,
            text,
            strategy: strategy.to_owned(),
            staged_after: hot.session.last_seq,
            staged_at: self.now(),
            committed: None,
        })
    }
}

/// What of a session is prepared and not shown.
fn staged(hot: &HotSession) -> Vec<Collapse> {
    hot.spans.iter().filter(|row| row.committed.is_none()).cloned().collect()
}

/// The span as prompts would show it from now on.
fn shown(row: &Collapse, hot: &HotSession) -> Collapsed {
    Collapsed {
        id: row.id,
        first: row.first_seq,
        last: row.last_seq,
        text: row.text.clone(),
        tokens: u32::try_from(row.tokens).unwrap_or(u32::MAX),
        made_after: hot.session.last_seq,
    }
}

/// What a text is written from: the stretch, and some of what follows it.
fn request(hot: &HotSession, id: CollapseId, stretch: Stretch) -> SpanRequest {
    let entries = hot.history.from(stretch.first);
    let (within, after) =
        entries.split_at(entries.partition_point(|entry| entry.message.seq <= stretch.last));
    let messages = |entries: &[bethink_context::Entry]| -> Vec<Arc<Message>> {
        entries.iter().map(|entry| Arc::clone(&entry.message)).collect()
    };
    // Three bytes an estimated token.
    let bytes = stretch.tokens * TEXT_PERCENT / 100 * 3;
    SpanRequest {
        id,
        messages: messages(within),
        after: messages(after.get(..SPAN_AFTER).unwrap_or(after)),
        max_bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        hints: Hints { session: hot.session.id.to_string() },
    }
}
