//! Makes one compaction: prepare → generate → commit. A compaction changes the session completely or not at all.
//!
//! The session is locked to prepare and to commit, but never while a model writes: appends and prompts continue, and
//! new messages follow the summary. Only one compaction per session runs at a time.

use std::sync::Arc;

use bethink_compactor::{
    CompactionFailure, CompactionInput, CompactionOutcome, EmbeddedSummarizer, FullSummarizer,
    NotesSummarizer, Restorable, SessionNotes, Summarizer, SummaryLevel, Trigger,
};
use bethink_context::{Hints, Thresholds, measure, reductions, view};
use bethink_facts::Facts;
use bethink_model::Figures;
use bethink_service::{ErrorKind, Result, ServiceError};
use bethink_store::CompactionRecord;

use super::CompactionRequest;
use super::full::ModelSummary;
use crate::handle::SessionHandle;
use crate::last_prompt::{ProviderWindow, smaller};
use crate::loaded::LoadedSession;
use crate::record::{
    MeasuredCompaction, compaction_event, last_compaction, measured, without_repeats,
};
use crate::service::{SessionEvent, SessionService};

/// The inputs of each level, cheapest first; the embedded level needs none.
#[derive(Default)]
struct Candidates<'a> {
    notes: Option<&'a SessionNotes>,
    full: Option<&'a ModelSummary>,
    embedded: bool,
}

impl SessionService {
    /// Tries the levels that the request allows, cheapest first.
    pub(crate) async fn compact_handle(
        &self,
        handle: &Arc<SessionHandle>,
        request: CompactionRequest,
    ) -> Result<CompactionRecord> {
        let _compacting = handle.compacting.lock().await;
        // This comes before the session is locked, because an update of the notes may need the session.
        if request.takes_notes() {
            for contributor in self.contributors() {
                contributor.settle(handle.id).await?;
            }
        }
        let mut loaded = self.lock(handle).await?;
        if let Some(done) = overtaken(&loaded, &request) {
            return Ok(done);
        }
        if request.trigger == Trigger::Manual && !request.is_dry_run {
            self.keep_reductions(&mut loaded).await?;
        }
        let notes = self.notes_for(&loaded, &request).await?;
        let asked = self.full_request(&loaded, &request).await?;
        let mut tried = Vec::new();
        let Some(asked) = asked else {
            let candidates = Candidates {
                notes: notes.as_ref(),
                embedded: request.allows(SummaryLevel::Embedded),
                full: None,
            };
            return self.attempt_and_commit(handle, &mut loaded, &request, candidates, tried).await;
        };
        if notes.is_some() {
            let candidates = Candidates { notes: notes.as_ref(), ..Candidates::default() };
            match self.attempt(handle, &mut loaded, &request, candidates).await? {
                Ok(outcome) => {
                    return self.commit_compaction(&mut loaded, &request, outcome, tried).await;
                }
                Err(CompactionFailure::Refused(reasons)) => tried.extend(reasons),
                // Another level may cover more messages than the notes do.
                Err(CompactionFailure::LargeRequest) => {}
                Err(failure) => return Err(self.failed(&mut loaded, &request, &failure).await),
            }
        }
        // A trial without a model: if no summary can be accepted, the model is not called.
        let free = Candidates { embedded: true, ..Candidates::default() };
        if let Err(failure) = self.attempt(handle, &mut loaded, &request, free).await? {
            return Err(self.failed(&mut loaded, &request, &failure).await);
        }
        drop(loaded);
        let written = self.write_full(handle.id, asked, &mut tried).await;
        let mut loaded = self.lock(handle).await?;
        if request.trigger == Trigger::Auto && loaded.undone {
            let detail = "the last compaction was undone while a summary was being written";
            return Err(ServiceError::new(ErrorKind::NotCompactable, detail));
        }
        let candidates = Candidates { full: written.as_ref(), embedded: true, notes: None };
        self.attempt_and_commit(handle, &mut loaded, &request, candidates, tried).await
    }

    async fn attempt_and_commit(
        &self,
        handle: &SessionHandle,
        loaded: &mut LoadedSession,
        request: &CompactionRequest,
        candidates: Candidates<'_>,
        tried: Vec<String>,
    ) -> Result<CompactionRecord> {
        match self.attempt(handle, loaded, request, candidates).await? {
            Ok(outcome) => self.commit_compaction(loaded, request, outcome, tried).await,
            Err(failure) => Err(self.failed(loaded, request, &failure).await),
        }
    }

    /// Generates a compaction from the given candidates. Changes nothing.
    async fn attempt(
        &self,
        handle: &SessionHandle,
        loaded: &mut LoadedSession,
        request: &CompactionRequest,
        candidates: Candidates<'_>,
    ) -> Result<
        std::result::Result<(CompactionOutcome, Option<MeasuredCompaction>), CompactionFailure>,
    > {
        let facts = self.facts_through(handle, loaded.session.last_seq, loaded.messages()).await?;
        let restorable = self.restorable(loaded, &facts).await?;
        let previous = measured(loaded, &facts);
        let made = tokio::task::block_in_place(|| {
            self.generate(loaded, request, &facts, &restorable, &candidates)
        });
        Ok(made.map(|outcome| (outcome, previous)))
    }

    /// Drops what belongs to the old view, and keeps what later compactions need. A dry run changes nothing.
    async fn commit_compaction(
        &self,
        loaded: &mut LoadedSession,
        request: &CompactionRequest,
        (outcome, previous): (CompactionOutcome, Option<MeasuredCompaction>),
        tried: Vec<String>,
    ) -> Result<CompactionRecord> {
        let done = self.compaction_row(loaded, request.trigger, &outcome, previous, tried)?;
        if request.is_dry_run {
            return Ok(done);
        }
        self.tell(&SessionEvent::Compacting { loaded });
        self.add_compaction(done.clone()).await?;
        loaded.breakers.succeeded(request.trigger, &self.limits.compact);
        // Keep the smaller window that the provider named, or it would refuse the next prompt again.
        if let Some(limit) = request.refused.and_then(|refused| refused.limit) {
            let known = loaded.state.thresholds;
            loaded.state.thresholds = thresholds(&known, request.refused, limit);
            if loaded.state.thresholds != known {
                loaded.window = Some(ProviderWindow::new(&loaded.state, limit));
            }
        }
        self.keep_remembered(loaded).await?;
        loaded.state.history = loaded.state.history.without_before(outcome.boundary.kept_from);
        self.tell(&SessionEvent::Decided { session: done.session });
        loaded.state.decisions = outcome.decisions;
        loaded.undone = false;
        loaded.view_tokens = outcome.tokens_after.saturating_sub(loaded.state.fixed.total());
        loaded.last_compaction = Some(done.clone());
        loaded.state.last_compaction = Some(last_compaction(&done)?);
        loaded.cache.watch().compacted();
        // The calls that showed the todo list have left the view, so the list is shown again.
        loaded.state.todos.changed = !loaded.state.todos.items.is_empty();
        metrics::counter!("bethink_compactions_total").increment(1);
        tracing::info!(
            session = %done.session, level = %done.level, before = done.tokens_before,
            after = done.tokens_after, fidelity = done.fidelity, "compacted"
        );
        self.cx.hub().publish(done.session, done.made_after, &compaction_event(&done)?);
        Ok(done)
    }

    async fn failed(
        &self,
        loaded: &mut LoadedSession,
        request: &CompactionRequest,
        failure: &CompactionFailure,
    ) -> ServiceError {
        if request.trigger == Trigger::Auto && *failure != CompactionFailure::LargeRequest {
            loaded.breakers.failed();
            if let Err(error) = self.keep_remembered(loaded).await {
                tracing::warn!(session = %loaded.session.id, %error, "could not store the state of the breakers");
            }
        }
        metrics::counter!("bethink_compactions_failed_total").increment(1);
        refusal(failure)
    }

    /// Returns the notes, if the request allows a summary made from them.
    async fn notes_for(
        &self,
        loaded: &LoadedSession,
        request: &CompactionRequest,
    ) -> Result<Option<SessionNotes>> {
        if !request.takes_notes() {
            return Ok(None);
        }
        let asked = request.level == Some(SummaryLevel::SessionMemory);
        let notes = async {
            for contributor in self.contributors() {
                if let Some(notes) = contributor.summary(&loaded.session).await? {
                    return Ok(Some(notes));
                }
            }
            Ok(None)
        };
        match notes.await {
            Ok(Some(notes)) => Ok(Some(notes)),
            Ok(None) if asked => {
                Err(ServiceError::new(ErrorKind::NotCompactable, "the session has no notes yet")
                    .hint("run `bethink notes update` to write them, or omit the level"))
            }
            Ok(None) => Ok(None),
            Err(refusal) if asked => Err(refusal),
            // The next level needs no notes.
            Err(refusal) => {
                tracing::warn!(session = %loaded.session.id, reason = %refusal.detail, "could not use the notes");
                Ok(None)
            }
        }
    }

    fn generate(
        &self,
        loaded: &LoadedSession,
        request: &CompactionRequest,
        facts: &Facts,
        restorable: &Restorable,
        candidates: &Candidates<'_>,
    ) -> std::result::Result<CompactionOutcome, CompactionFailure> {
        let options = loaded.state.view_options();
        // A trial starts where the compaction itself would: with the reductions that come before it.
        let reduced = request
            .is_dry_run
            .then(|| reductions(&loaded.state, &self.limits.stages, self.cx.now()).0);
        let decisions = reduced.as_ref().unwrap_or(&loaded.state.decisions);
        let estimated =
            view(&loaded.state.history, decisions, options).tokens() + loaded.state.fixed.total();
        let size = measure(
            &loaded.state.history,
            decisions,
            &loaded.state.model.name,
            estimated,
            &loaded.state.learner,
        );
        let hints = Hints { session: loaded.session.id.to_string() };
        // The provider's count is better than any estimate.
        let counted =
            request.refused.and_then(|refused| refused.input).unwrap_or(0).max(size.tokens);
        let input = CompactionInput {
            id: request.id.to_string(),
            history: &loaded.state.history,
            decisions,
            facts,
            thresholds: thresholds(&loaded.state.thresholds, request.refused, counted),
            fixed_tokens: loaded.state.fixed.total(),
            scale: counted as f64 / estimated.max(1) as f64,
            trigger: request.trigger,
            focus: request.focus.clone(),
            summary_tokens: request.summary_tokens,
            restorable,
            limits: self.limits.compact,
            options,
            hints: &hints,
        };
        let is_only = request.level == Some(SummaryLevel::SessionMemory);
        let from_notes = candidates.notes.map(|notes| NotesSummarizer { notes, is_only });
        let from_model =
            candidates.full.map(|full| FullSummarizer { text: &full.text, through: full.through });
        let ladder: Vec<&dyn Summarizer> = [
            from_notes.as_ref().map(|level| level as &dyn Summarizer),
            from_model.as_ref().map(|level| level as &dyn Summarizer),
            candidates.embedded.then_some(&EmbeddedSummarizer as &dyn Summarizer),
        ]
        .into_iter()
        .flatten()
        .collect();
        bethink_compactor::compact(&input, &ladder)
    }
}

/// Returns the compaction that was made after the prompt requested the current one, if there was one.
fn overtaken(loaded: &LoadedSession, request: &CompactionRequest) -> Option<CompactionRecord> {
    let now = loaded.state.decisions.boundary.as_ref().map(|boundary| &boundary.id);
    let same = request.trigger != Trigger::Auto || now == request.seen.as_ref();
    loaded.last_compaction.clone().filter(|_| !same)
}

/// Returns the session's thresholds, or those of the smaller window that the provider reported. If the provider
/// reported no limit, the window must be smaller than the refused prompt of `counted` tokens.
fn thresholds(known: &Thresholds, refused: Option<Figures>, counted: u64) -> Thresholds {
    let reported = refused.map(|refused| {
        refused.limit.unwrap_or_else(|| counted.saturating_sub(refused.over.unwrap_or(0)))
    });
    reported.map_or(*known, |accepts| smaller(known, accepts))
}

fn refusal(failure: &CompactionFailure) -> ServiceError {
    let hint = match failure {
        CompactionFailure::Nothing => "append more messages first",
        CompactionFailure::NoRoom { .. } => {
            "shorten the system prompt or the tools, or give the session a larger context window"
        }
        CompactionFailure::LargeRequest | CompactionFailure::Refused(_) => {
            "nothing was changed, and no message was lost"
        }
    };
    let detail = match failure {
        CompactionFailure::Refused(reasons) => {
            CompactionFailure::Refused(without_repeats(reasons.clone())).to_string()
        }
        other => other.to_string(),
    };
    ServiceError::new(ErrorKind::NotCompactable, detail).hint(hint)
}

#[cfg(test)]
mod tests {
    use bethink_context::thresholds::MIN_WINDOW;
    use bethink_context::window_thresholds;

    use super::*;

    #[test]
    fn a_refusal_reports_a_smaller_window() {
        let known = window_thresholds(200_000, 8_000, 0.0).unwrap();
        let window = |figures: Figures| thresholds(&known, Some(figures), 150_000).window;
        let none = Figures::default();
        assert_eq!(thresholds(&known, None, 150_000), known);
        assert_eq!(window(Figures { limit: Some(32_000), ..none }), 32_000);
        assert_eq!(window(Figures { limit: Some(1_000_000), ..none }), 200_000);
        assert_eq!(window(Figures { over: Some(50_000), ..none }), 100_000);
        assert_eq!(window(none), 150_000, "the refused prompt did not fit");
        assert_eq!(window(Figures { over: Some(u64::MAX), ..none }), MIN_WINDOW);
    }
}
