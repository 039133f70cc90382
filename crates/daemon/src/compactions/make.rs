//! One compaction: prepare → generate → commit. The session is either before it or after it.
//!
//! The session's lock is held to prepare and to commit, never while a model writes: appends and prompts go
//! on meanwhile, and what arrives is kept after the summary. One compaction of a session at a time.

use std::collections::HashSet;
use std::sync::Arc;

use bethink_compactor::{
    EmbeddedSummarizer, Failure, FullSummarizer, Input, Level, Notes, NotesSummarizer, Outcome,
    Restorable, Summarizer, Trigger,
};
use bethink_context::thresholds::MIN_WINDOW;
use bethink_context::{Hints, Thresholds, measure, view};
use bethink_facts::Facts;
use bethink_model::Figures;
use bethink_store::Compaction;
use uuid::Uuid;

use super::Wish;
use super::full::Written;
use super::record::Proved;
use crate::hot::{ESTIMATOR, HotSession, Slot};
use crate::sessions::view_options;
use crate::state::State;
use crate::{Daemon, Kind, Refusal, Result};

/// What the levels of a ladder are made of, cheapest first; the embedded one needs nothing.
#[derive(Default)]
struct Rungs<'a> {
    notes: Option<&'a Notes>,
    full: Option<&'a Written>,
    embedded: bool,
}

impl Daemon {
    /// Tries the levels that the wish allows, cheapest first.
    pub(crate) async fn compact_slot(&self, slot: &Arc<Slot>, wish: Wish) -> Result<Compaction> {
        let _one = slot.compacting.lock().await;
        // Before the session's own lock: an update that is waited for may need the session itself.
        if wish.takes_notes() {
            self.wait_for_notes(slot.id).await;
        }
        let mut hot = slot.lock(self).await?;
        if let Some(done) = overtaken(&hot, &wish) {
            return Ok(done);
        }
        if wish.trigger == Trigger::Manual {
            self.keep_cleared(&mut hot).await?;
        }
        let notes = self.notes_for(&hot, &wish).await?;
        let asked = self.full_request(&hot, &wish).await?;
        let mut tried = Vec::new();
        let Some(asked) = asked else {
            let rungs =
                Rungs { notes: notes.as_ref(), embedded: wish.allows(Level::Embedded), full: None };
            return self.climb(slot, &mut hot, &wish, rungs, tried).await;
        };
        if notes.is_some() {
            let rungs = Rungs { notes: notes.as_ref(), ..Rungs::default() };
            match self.attempt(slot, &mut hot, &wish, rungs).await? {
                Ok(outcome) => {
                    return self.commit_compaction(&mut hot, &wish, outcome, tried).await;
                }
                Err(Failure::Refused(reasons)) => tried.extend(reasons),
                Err(failure) => return Err(self.failed(&mut hot, &wish, &failure)),
            }
        }
        // Where no summary would be accepted, none is paid for.
        let free = Rungs { embedded: true, ..Rungs::default() };
        if let Err(failure) = self.attempt(slot, &mut hot, &wish, free).await? {
            return Err(self.failed(&mut hot, &wish, &failure));
        }
        drop(hot);
        let written = self.write_full(slot.id, asked, &mut tried).await;
        let mut hot = slot.lock(self).await?;
        if wish.trigger == Trigger::Auto && hot.undone {
            let detail = "the last compaction was undone while a summary was written";
            return Err(Refusal::new(Kind::NotCompactable, detail));
        }
        let rungs = Rungs { full: written.as_ref(), embedded: true, notes: None };
        self.climb(slot, &mut hot, &wish, rungs, tried).await
    }

    async fn climb(
        &self,
        slot: &Slot,
        hot: &mut HotSession,
        wish: &Wish,
        rungs: Rungs<'_>,
        tried: Vec<String>,
    ) -> Result<Compaction> {
        match self.attempt(slot, hot, wish, rungs).await? {
            Ok(outcome) => self.commit_compaction(hot, wish, outcome, tried).await,
            Err(failure) => Err(self.failed(hot, wish, &failure)),
        }
    }

    /// Generates with what is at hand; nothing is changed.
    async fn attempt(
        &self,
        slot: &Slot,
        hot: &mut HotSession,
        wish: &Wish,
        rungs: Rungs<'_>,
    ) -> Result<std::result::Result<(Outcome, Option<Proved>), Failure>> {
        let at_hand = hot.history.entries().iter().map(|e| Arc::clone(&e.message)).collect();
        let facts = self.facts_through(slot, hot.session.last_seq, at_hand).await?;
        let state = State::parse(&hot.session.state);
        let restorable = self.restorable(hot, &state, &facts).await;
        let proved = super::proved(hot, &facts);
        let made =
            tokio::task::block_in_place(|| self.generate(hot, wish, &facts, &restorable, &rungs));
        Ok(made.map(|outcome| (outcome, proved)))
    }

    async fn commit_compaction(
        &self,
        hot: &mut HotSession,
        wish: &Wish,
        (outcome, proved): (Outcome, Option<Proved>),
        tried: Vec<String>,
    ) -> Result<Compaction> {
        let compaction = self.row(hot, wish.trigger, &outcome, proved, tried)?;
        self.store().add_compaction(compaction.clone(), Vec::new()).await?;
        self.clean_up(hot, wish, outcome, &compaction);
        Ok(compaction)
    }

    fn failed(&self, hot: &mut HotSession, wish: &Wish, failure: &Failure) -> Refusal {
        if wish.trigger == Trigger::Auto {
            hot.breakers.failed();
        }
        metrics::counter!("bethink_compactions_failed_total").increment(1);
        refusal(failure)
    }

    /// The notes, where the wish leaves room for a summary made of them.
    async fn notes_for(&self, hot: &HotSession, wish: &Wish) -> Result<Option<Notes>> {
        if !wish.takes_notes() {
            return Ok(None);
        }
        let asked = wish.level == Some(Level::SessionMemory);
        match self.notes_now(&hot.session).await {
            Ok(Some((text, through))) => Ok(Some(Notes { text, through })),
            Ok(None) if asked => {
                Err(Refusal::new(Kind::NotCompactable, "the session has no notes yet")
                    .hint("bethink notes update writes them, or leave the level out"))
            }
            Ok(None) => Ok(None),
            Err(refusal) if asked => Err(refusal),
            // The next level needs no notes.
            Err(refusal) => {
                tracing::warn!(session = %hot.session.id, reason = %refusal.detail, "notes could not be used");
                Ok(None)
            }
        }
    }

    fn generate(
        &self,
        hot: &HotSession,
        wish: &Wish,
        facts: &Facts,
        restorable: &Restorable,
        rungs: &Rungs<'_>,
    ) -> std::result::Result<Outcome, Failure> {
        let options = view_options(&hot.model);
        let estimated = view(&hot.history, &hot.decisions, options).tokens() + hot.fixed_tokens;
        let size = measure(&hot.history, &hot.decisions, &hot.model.name, estimated, &hot.learner);
        let hints = Hints { session: hot.session.id.to_string() };
        // What the provider counted is truer than any estimate.
        let counted = wish.refused.and_then(|refused| refused.input).unwrap_or(0).max(size.tokens);
        let input = Input {
            id: Uuid::now_v7().to_string(),
            history: &hot.history,
            decisions: &hot.decisions,
            facts,
            thresholds: thresholds(&hot.thresholds, wish.refused, counted),
            fixed_tokens: hot.fixed_tokens,
            scale: counted as f64 / estimated.max(1) as f64,
            trigger: wish.trigger,
            focus: wish.focus.clone(),
            summary_tokens: wish.summary_tokens,
            restorable,
            limits: crate::limits::compact(&self.settings().compact),
            options,
            hints: &hints,
            estimator: &ESTIMATOR,
        };
        let is_only = wish.level == Some(Level::SessionMemory);
        let from_notes = rungs.notes.map(|notes| NotesSummarizer { notes, is_only });
        let from_model =
            rungs.full.map(|full| FullSummarizer { text: &full.text, through: full.through });
        let ladder: Vec<&dyn Summarizer> = [
            from_notes.as_ref().map(|level| level as &dyn Summarizer),
            from_model.as_ref().map(|level| level as &dyn Summarizer),
            rungs.embedded.then_some(&EmbeddedSummarizer as &dyn Summarizer),
        ]
        .into_iter()
        .flatten()
        .collect();
        bethink_compactor::compact(&input, &ladder)
    }

    /// What belonged to the old view goes; what later compactions need stays.
    fn clean_up(&self, hot: &mut HotSession, wish: &Wish, outcome: Outcome, done: &Compaction) {
        let limits = crate::limits::compact(&self.settings().compact);
        hot.breakers.succeeded(wish.trigger, &limits);
        // A window that was named as smaller stays so, or the next prompt would be refused again.
        if let Some(limit) = wish.refused.and_then(|refused| refused.limit) {
            hot.thresholds = thresholds(&hot.thresholds, wish.refused, limit);
        }
        hot.history = hot.history.without_before(outcome.boundary.kept_from);
        self.gateway().edited(done.session);
        hot.decided(outcome.decisions);
        hot.undone = false;
        hot.view_tokens = outcome.tokens_after.saturating_sub(hot.fixed_tokens);
        hot.last_compaction = Some(done.clone());
        hot.cache.compacted();
        // The list is news again: the calls that showed it have left the view.
        hot.todos.changed = !hot.todos.list.is_empty();
        metrics::counter!("bethink_compactions_total").increment(1);
        tracing::info!(
            session = %done.session, level = %done.level, before = done.tokens_before,
            after = done.tokens_after, fidelity = done.fidelity, "compacted"
        );
        let data = crate::events::compaction_event(done);
        self.hub().publish(done.session, "compaction", done.made_after, &data);
    }
}

/// Another compaction came between the prompt that asked for one and its turn.
fn overtaken(hot: &HotSession, wish: &Wish) -> Option<Compaction> {
    let now = hot.decisions.boundary.as_ref().map(|boundary| &boundary.id);
    let same = wish.trigger != Trigger::Auto || now == wish.seen.as_ref();
    hot.last_compaction.clone().filter(|_| !same)
}

/// Those of the session, or of the smaller window that a refusal tells of. Where it names no limit, the
/// window is smaller than the prompt of `counted` tokens that it refused.
fn thresholds(known: &Thresholds, refused: Option<Figures>, counted: u64) -> Thresholds {
    let told = refused.map(|refused| {
        refused.limit.unwrap_or_else(|| counted.saturating_sub(refused.over.unwrap_or(0)))
    });
    let smaller = told.map(|told| told.max(MIN_WINDOW)).filter(|told| *told < known.window);
    let output = known.window.saturating_sub(known.effective);
    smaller.and_then(|window| Thresholds::new(window, output, 0.0).ok()).unwrap_or(*known)
}

fn refusal(failure: &Failure) -> Refusal {
    let hint = match failure {
        Failure::Nothing => "append more of the conversation first",
        Failure::NoRoom { .. } => "shorten system or tools, or give the session a larger window",
        Failure::Refused(_) => "nothing was changed; the messages are all there",
    };
    let detail = match failure {
        // Each attempt has its reason; the same one four times tells no more than once.
        Failure::Refused(reasons) => {
            let mut told = HashSet::new();
            let new = reasons.iter().filter(|reason| told.insert(reason.as_str())).cloned();
            Failure::Refused(new.collect()).to_string()
        }
        other => other.to_string(),
    };
    Refusal::new(Kind::NotCompactable, detail).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_tells_of_a_smaller_window() {
        let known = Thresholds::new(200_000, 8_000, 0.0).unwrap();
        let window = |figures: Figures| thresholds(&known, Some(figures), 150_000).window;
        let none = Figures::default();
        assert_eq!(thresholds(&known, None, 150_000), known);
        assert_eq!(window(Figures { limit: Some(32_000), ..none }), 32_000);
        assert_eq!(window(Figures { limit: Some(1_000_000), ..none }), 200_000);
        assert_eq!(window(Figures { over: Some(50_000), ..none }), 100_000);
        assert_eq!(window(none), 150_000, "what was refused did not fit");
        assert_eq!(window(Figures { over: Some(u64::MAX), ..none }), MIN_WINDOW);
    }
}
