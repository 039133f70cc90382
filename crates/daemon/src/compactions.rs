//! Compactions: made, listed, undone, expanded.

mod disk;
mod record;

use std::collections::HashSet;
use std::sync::Arc;

use bethink_api as api;
use bethink_compactor::fidelity::{self, Pressure};
use bethink_compactor::{
    EmbeddedSummarizer, Failure, Input, Level, Notes, NotesSummarizer, Outcome, Summarizer, Trigger,
};
use bethink_context::{Hints, measure, view};
use bethink_facts::Facts;
use bethink_store::Compaction;
use bethink_transcript::{CompactionId, SessionId};
use uuid::Uuid;

use crate::hot::{ESTIMATOR, HotSession, Slot};
use crate::sessions::view_options;
use crate::state::State;
use crate::{Daemon, Kind, Refusal, Result};

use record::{Detail, Proved, all_out, out};
pub(crate) use record::{boundary_of, detail_of};

/// What a compaction is asked to be.
pub(crate) struct Wish {
    pub(crate) trigger: Trigger,
    pub(crate) focus: Option<String>,
    pub(crate) level: Option<Level>,
    pub(crate) summary_tokens: Option<u64>,
}

impl Wish {
    pub(crate) fn of(trigger: Trigger) -> Self {
        Self { trigger, focus: None, level: None, summary_tokens: None }
    }
}

impl Daemon {
    pub async fn compact(
        &self,
        id: SessionId,
        request: api::CompactRequest,
    ) -> Result<api::Compaction> {
        let wish = wish_of(request)?;
        let slot = self.hot(id).await?;
        let mut hot = slot.lock(self).await?;
        self.keep_cleared(&mut hot).await?;
        self.compact_hot(&slot, &mut hot, wish).await.map(|done| out(&done))
    }

    /// prepare → generate → commit; the session is either before it or after it.
    pub(crate) async fn compact_hot(
        &self,
        slot: &Slot,
        hot: &mut HotSession,
        wish: Wish,
    ) -> Result<Compaction> {
        // First of all: the update that is waited for needs the facts itself.
        let notes = self.notes_for(hot, &wish).await?;
        let at_hand = hot.history.entries().iter().map(|e| Arc::clone(&e.message)).collect();
        let facts = self.facts_through(slot, hot.session.last_seq, at_hand).await?;
        let state = State::parse(&hot.session.state);
        let restorable = self.restorable(hot, &state, &facts).await;
        let trigger = wish.trigger;
        let proved = proved(hot, &facts);
        let made = tokio::task::block_in_place(|| {
            self.generate(hot, wish, &facts, &restorable, notes.as_ref())
        });
        drop(facts);
        let outcome = match made {
            Ok(outcome) => outcome,
            Err(failure) => {
                if trigger == Trigger::Auto {
                    hot.breakers.failed();
                }
                metrics::counter!("bethink_compactions_failed_total").increment(1);
                return Err(refusal(&failure));
            }
        };
        let compaction = self.row(hot, trigger, &outcome, proved)?;
        self.store().add_compaction(compaction.clone(), Vec::new()).await?;
        self.clean_up(hot, trigger, outcome, &compaction);
        Ok(compaction)
    }

    /// The notes, where the wish leaves room for a summary made of them.
    async fn notes_for(&self, hot: &HotSession, wish: &Wish) -> Result<Option<Notes>> {
        let asked = wish.level == Some(Level::SessionMemory);
        let fits = wish.level.is_none() && wish.focus.is_none() && wish.summary_tokens.is_none();
        if !asked && !fits {
            return Ok(None);
        }
        match self.notes_for_compaction(&hot.session).await {
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
        wish: Wish,
        facts: &Facts,
        restorable: &bethink_compactor::Restorable,
        notes: Option<&Notes>,
    ) -> std::result::Result<Outcome, Failure> {
        let options = view_options(&hot.model);
        let estimated = view(&hot.history, &hot.decisions, options).tokens() + hot.fixed_tokens;
        let size = measure(&hot.history, &hot.decisions, &hot.model.name, estimated, &hot.learner);
        let hints = Hints { session: hot.session.id.to_string() };
        let input = Input {
            id: Uuid::now_v7().to_string(),
            history: &hot.history,
            decisions: &hot.decisions,
            facts,
            thresholds: hot.thresholds,
            fixed_tokens: hot.fixed_tokens,
            scale: size.tokens as f64 / estimated.max(1) as f64,
            trigger: wish.trigger,
            focus: wish.focus,
            summary_tokens: wish.summary_tokens,
            restorable,
            limits: crate::limits::compact(&self.settings().compact),
            options,
            hints: &hints,
            estimator: &ESTIMATOR,
        };
        // Cheapest first; a level that needs a model joins between the two.
        let is_only = wish.level == Some(Level::SessionMemory);
        let from_notes = notes.map(|notes| NotesSummarizer { notes, is_only });
        let ladder = from_notes.as_ref().map(|level| level as &dyn Summarizer);
        let wanted: Vec<&dyn Summarizer> = ladder
            .into_iter()
            .chain([&EmbeddedSummarizer as &dyn Summarizer])
            .filter(|s| wish.level.is_none_or(|level| s.level() == level))
            .collect();
        bethink_compactor::compact(&input, &wanted)
    }

    fn row(
        &self,
        hot: &HotSession,
        trigger: Trigger,
        outcome: &Outcome,
        proved: Option<Proved>,
    ) -> Result<Compaction> {
        let warning = warning(hot, outcome, proved.as_ref());
        let detail = Detail {
            marker: outcome.boundary.marker.clone(),
            restored: outcome.boundary.restored.clone(),
            clipped: outcome.boundary.clipped.clone(),
            items: outcome.restored.clone(),
            names: outcome.fidelity.names,
            kept_names: outcome.fidelity.kept,
            lost: outcome.fidelity.lost.clone(),
            proved,
            warning,
            refused: outcome.refused.clone(),
            todos: hot.todos.list.clone(),
            title: hot.session.title.clone(),
            tags: hot.session.tags.clone(),
            unseen: hot.learner.unseen(),
        };
        let id = outcome.boundary.id.parse().map_err(Refusal::internal)?;
        Ok(Compaction {
            id,
            session: hot.session.id,
            trigger: trigger.as_str().to_owned(),
            level: outcome.level.as_str().to_owned(),
            first_seq: outcome.first_seq,
            last_seq: outcome.last_seq,
            kept_from: outcome.boundary.kept_from,
            made_after: outcome.boundary.made_after,
            tokens_before: outcome.tokens_before,
            tokens_after: outcome.tokens_after,
            summary: outcome.boundary.summary.clone(),
            summary_tokens: outcome.summary_tokens,
            fidelity: outcome.fidelity.score,
            detail: serde_json::to_string(&detail).map_err(Refusal::internal)?,
            created_at: self.now(),
            undone_at: None,
        })
    }

    /// What belonged to the old view goes; what later compactions need stays.
    fn clean_up(
        &self,
        hot: &mut HotSession,
        trigger: Trigger,
        outcome: Outcome,
        done: &Compaction,
    ) {
        let limits = crate::limits::compact(&self.settings().compact);
        hot.breakers.succeeded(trigger, &limits);
        hot.history = hot.history.without_before(outcome.boundary.kept_from);
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

    /// Oldest first. The one in force is judged by what came since.
    pub async fn compactions(&self, id: SessionId) -> Result<api::Compactions> {
        self.store().session(id).await?;
        let all = self.store().compactions(id).await?;
        let newest = if all.is_empty() { None } else { self.proved_by_now(id).await? };
        Ok(api::Compactions { compactions: all_out(&all, newest) })
    }

    async fn proved_by_now(&self, id: SessionId) -> Result<Option<Proved>> {
        let slot = self.hot(id).await?;
        let hot = slot.lock(self).await?;
        let at_hand = hot.history.entries().iter().map(|e| Arc::clone(&e.message)).collect();
        let facts = self.facts_through(&slot, hot.session.last_seq, at_hand).await?;
        Ok(tokio::task::block_in_place(|| proved(&hot, &facts)))
    }

    /// Ignores the record from now on; the messages behind it are in view again.
    pub async fn undo(&self, id: SessionId, compaction: CompactionId) -> Result<api::Compaction> {
        let slot = self.hot(id).await?;
        let undone = self.store().undo_compaction(id, compaction, self.now()).await?;
        slot.cache.compacted();
        slot.cool().await;
        let data = crate::events::compaction_event(&undone);
        self.hub().publish(id, "compaction", undone.made_after, &data);
        Ok(out(&undone))
    }

    /// The messages behind a summary: all, those a line of it points at, or those that match.
    pub async fn expand(
        &self,
        id: SessionId,
        compaction: CompactionId,
        q: Option<String>,
        limit: Option<usize>,
        cursor: Option<String>,
    ) -> Result<api::Expanded> {
        let all = self.store().compactions(id).await?;
        let Some(found) = all.iter().find(|c| c.id == compaction) else {
            return Err(Refusal::new(
                Kind::NotFound,
                format!("there is no compaction {compaction}"),
            ));
        };
        self.expand_covered(id, (found.first_seq, found.last_seq), q, limit, cursor).await
    }
}

/// How the compaction in force proved so far.
fn proved(hot: &HotSession, facts: &Facts) -> Option<Proved> {
    let compaction = hot.decisions.boundary.as_ref()?.id.clone();
    let hindsight = fidelity::look_back(&hot.history, &hot.decisions, facts)?;
    Some(Proved { compaction, hindsight })
}

fn warning(hot: &HotSession, outcome: &Outcome, proved: Option<&Proved>) -> Option<String> {
    let before = hot.last_compaction.as_ref().filter(|c| c.level != "recorded");
    let pressure = Pressure {
        fixed: hot.fixed_tokens,
        auto: hot.thresholds.auto,
        summary: outcome.summary_tokens,
        refused: outcome.refused.len(),
    };
    let hindsight = proved.map(|proved| &proved.hindsight);
    fidelity::warning(&outcome.fidelity, before.map(|c| c.fidelity), hindsight, pressure)
}

fn wish_of(request: api::CompactRequest) -> Result<Wish> {
    let level = match request.level.as_deref() {
        None => None,
        Some("embedded") => Some(Level::Embedded),
        Some("session_memory") => Some(Level::SessionMemory),
        Some("full") => {
            return Err(Refusal::new(
                Kind::NotCompactable,
                "level full is not available: the daemon has no model for it",
            )
            .hint("leave the level out, or ask for \"session_memory\" or \"embedded\""));
        }
        Some(other) => {
            return Err(Refusal::invalid(
                "level",
                format!(
                    "{other:?} is not a level: use \"session_memory\", \"full\" or \"embedded\""
                ),
            ));
        }
    };
    const LEAST: u64 = 200;
    const MOST: u64 = 200_000;
    if let Some(tokens) = request.summary_tokens
        && !(LEAST..=MOST).contains(&tokens)
    {
        return Err(Refusal::invalid("summary_tokens", format!("{LEAST} to {MOST} tokens"))
            .bounded(MOST, tokens));
    }
    let focus = request.instructions.filter(|text| !text.trim().is_empty());
    Ok(Wish { trigger: Trigger::Manual, focus, level, summary_tokens: request.summary_tokens })
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
