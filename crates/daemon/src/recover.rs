//! A provider refused a prompt that we made: the error is classified, and the one thing that can help is
//! done, once. What was done already for the same prompt is never done again (specification, section 4).
//!
//! Reading order: `said` (what the client tells of the refusal) → here.

mod said;

use std::sync::Arc;

use bethink_api as api;
use bethink_compactor::Trigger;
use bethink_context::thresholds::MIN_WINDOW;
use bethink_context::{Decision, Stripped, view};
use bethink_model::recovery::{LONGEST_ASKED_WAIT, backoff};
use bethink_model::{Class, ModelError, Retry};
use bethink_transcript::{PromptBlock, Role, Seq, SessionId};
use serde_json::json;

use crate::compactions::Wish;
use crate::hot::{HotSession, Slot};
use crate::sessions::view_options;
use crate::{Daemon, Kind, Refusal, Result};

use said::{Shorter, shorter_answer};

/// Steps that were taken for the prompt that stands now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovering {
    /// Newest message when the first of them was taken; a newer answer begins anew.
    after: Seq,
    taken: Vec<&'static str>,
    /// Newest message of the prompt that is asked again unchanged, and how often that was advised.
    repeated: (Seq, u32),
}

const COLLAPSE: &str = "collapse";
const COMPACT: &str = "compact";
const SHRINK_OUTPUT: &str = "shrink_output";
const STRIP_MEDIA: &str = "strip_media";
const STRIP_THINKING: &str = "strip_thinking";
const WAIT: &str = "wait";
const NONE: &str = "none";

impl Daemon {
    pub async fn recover(
        &self,
        id: SessionId,
        request: api::RecoverRequest,
    ) -> Result<api::Recovered> {
        let error = said::read(&request)?;
        let slot = self.hot(id).await?;
        if slot.lock(self).await?.session.last_seq == Seq::ZERO {
            return Err(Refusal::new(Kind::Conflict, "the session has no messages yet")
                .hint("append what was sent, then tell what the provider said"));
        }
        let mut told = api::Recovered {
            class: error.class.as_str().to_owned(),
            input_tokens: error.figures.input,
            output_tokens: error.figures.output,
            limit: error.figures.limit,
            ..api::Recovered::default()
        };
        self.take_step(&slot, &request, &error, &mut told).await?;
        told.retry = told.step != NONE;
        metrics::counter!("bethink_recoveries_total", "class" => told.class.clone(), "step" => told.step.clone())
            .increment(1);
        tracing::info!(session = %id, class = %told.class, step = %told.step, detail = %told.detail, "recover");
        let data = json!({ "class": told.class, "step": told.step, "detail": told.detail,
            "wait_ms": told.wait_ms, "max_tokens": told.max_tokens, "compaction": told.compaction });
        self.hub().publish(id, "recovery", Seq::ZERO, &data);
        Ok(told)
    }

    async fn take_step(
        &self,
        slot: &Arc<Slot>,
        request: &api::RecoverRequest,
        error: &ModelError,
        told: &mut api::Recovered,
    ) -> Result<()> {
        if error.heard {
            let detail = format!("part of the answer was shown already; it broke off: {error}");
            say(told, NONE, detail);
            return Ok(());
        }
        match error.class {
            Class::Overflow => self.make_room(slot, error, told).await,
            Class::OutputOverflow => self.shorten_answer(slot, request, error, told).await,
            Class::MediaTooLarge | Class::RequestTooLarge => {
                if self.strip(slot, Stripped::Media, STRIP_MEDIA).await? {
                    say(told, STRIP_MEDIA, "images and documents are left out".to_owned());
                    return Ok(());
                }
                if error.class == Class::RequestTooLarge {
                    return self.make_room(slot, error, told).await;
                }
                say(told, NONE, "there are no images or documents left to leave out".to_owned());
                Ok(())
            }
            Class::ThinkingBound => {
                let stripped = self.strip(slot, Stripped::Thinking, STRIP_THINKING).await?;
                let (step, detail) = match stripped {
                    true => (STRIP_THINKING, "thinking is left out of what was edited"),
                    false => (NONE, "no thinking is left that could be left out"),
                };
                say(told, step, detail.to_owned());
                Ok(())
            }
            class if class.retry() == Retry::Same => {
                let attempt = match request.attempt {
                    Some(attempt) => attempt,
                    None => slot.lock(self).await?.repeats(),
                };
                wait(attempt, error, told);
                Ok(())
            }
            _ => {
                say(told, NONE, format!("asking again can't help: {error}"));
                Ok(())
            }
        }
    }

    /// A lower limit of output where that makes room, a shorter prompt otherwise.
    async fn shorten_answer(
        &self,
        slot: &Arc<Slot>,
        request: &api::RecoverRequest,
        error: &ModelError,
        told: &mut api::Recovered,
    ) -> Result<()> {
        match shorter_answer(error, request.max_tokens) {
            Shorter::To(fits) if self.first_time(slot, SHRINK_OUTPUT).await? => {
                told.max_tokens = Some(fits);
                say(told, SHRINK_OUTPUT, format!("an answer of {fits} tokens fits"));
                Ok(())
            }
            _ => match (error.figures.input, error.figures.limit) {
                // A limit of the answer alone: a shorter prompt changes nothing.
                (None, Some(most)) => {
                    say(told, NONE, format!("max_tokens must be {most} or less"));
                    Ok(())
                }
                _ => self.make_room(slot, error, told).await,
            },
        }
    }

    /// Staged collapses first, then one compaction that knows by how much it was too long.
    async fn make_room(
        &self,
        slot: &Arc<Slot>,
        error: &ModelError,
        told: &mut api::Recovered,
    ) -> Result<()> {
        if let Some(limit) = error.figures.limit.filter(|limit| *limit < MIN_WINDOW) {
            say(
                told,
                NONE,
                format!(
                    "the provider takes {limit} tokens, and a session needs {MIN_WINDOW}: load the model with a larger context, or choose another"
                ),
            );
            return Ok(());
        }
        if self.drained(slot).await? {
            say(told, COLLAPSE, "spans that were staged are collapsed".to_owned());
            return Ok(());
        }
        if !self.first_time(slot, COMPACT).await? {
            say(told, NONE, "it was compacted already and is still too long: shorten system or tools, or give the session a larger window".to_owned());
            return Ok(());
        }
        let wish = Wish { refused: Some(error.figures), ..Wish::of(Trigger::Reactive) };
        match self.compact_slot(slot, wish).await {
            Ok(done) => {
                told.compaction = Some(done.id.to_string());
                let (before, after) = (done.tokens_before, done.tokens_after);
                let window = slot.lock(self).await?.model.context_window;
                let smaller = error.figures.limit.filter(|limit| *limit < window);
                let advice = smaller.map_or_else(String::new, |limit| {
                    format!("; the provider takes {limit} tokens, and the session is told {window}: set its model.context_window to {limit}")
                });
                say(told, COMPACT, format!("compacted from {before} to {after} tokens{advice}"));
            }
            Err(refusal) if refusal.kind == Kind::NotCompactable => {
                say(told, NONE, format!("no compaction helps: {}", refusal.detail));
            }
            // Not the prompt's fault: it may be tried again.
            Err(refusal) => {
                slot.lock(self).await?.recovering.taken.retain(|step| *step != COMPACT);
                return Err(refusal);
            }
        }
        Ok(())
    }

    async fn drained(&self, slot: &Arc<Slot>) -> Result<bool> {
        let mut hot = slot.lock(self).await?;
        self.drain_collapses(slot, &mut hot).await
    }

    async fn first_time(&self, slot: &Arc<Slot>, step: &'static str) -> Result<bool> {
        let mut hot = slot.lock(self).await?;
        Ok(hot.take(step))
    }

    /// Leaves a kind of block out of all that was said until now; `false` if that was done before, or if
    /// the prompt shows none.
    async fn strip(&self, slot: &Arc<Slot>, what: Stripped, step: &'static str) -> Result<bool> {
        let mut hot = slot.lock(self).await?;
        let Some(from) = hot.first_to_strip(what) else { return Ok(false) };
        if !hot.take(step) {
            return Ok(false);
        }
        let through = hot.session.last_seq;
        let record = Decision::Stripped { what, from, through, made_after: through };
        let mut decisions = hot.decisions.clone();
        decisions.apply(&record, &hot.history, &crate::hot::tokens);
        self.keep(&mut hot, decisions, vec![record], self.now()).await?;
        Ok(true)
    }
}

impl HotSession {
    /// Notes a step; `false` if it was taken for this prompt before.
    fn take(&mut self, step: &'static str) -> bool {
        let answered = self.newest_answer();
        if self.recovering.after < answered {
            self.recovering = Recovering::default();
        }
        if self.recovering.taken.contains(&step) {
            return false;
        }
        if self.recovering.taken.is_empty() {
            self.recovering.after = self.session.last_seq;
        }
        self.recovering.taken.push(step);
        true
    }

    fn newest_answer(&self) -> Seq {
        let entries = self.history.entries().iter().rev();
        let mut answers = entries.filter(|entry| entry.message.role == Role::Assistant);
        answers.next().map_or(Seq::ZERO, |entry| entry.message.seq)
    }

    /// Tries of the prompt as it stands, for clients that don't count them.
    fn repeats(&mut self) -> u32 {
        let newest = self.session.last_seq;
        let (of, tries) = self.recovering.repeated;
        let tries = if of == newest { tries.saturating_add(1) } else { 1 };
        self.recovering.repeated = (newest, tries);
        tries
    }

    /// The message from which on something is left out. Thinking goes from the first edit on, since what was
    /// thought before it is still bound to what stands there; without any after an edit, the edit is not to blame.
    fn first_to_strip(&self, what: Stripped) -> Option<Seq> {
        let shown = view(&self.history, &self.decisions, view_options(&self.model));
        let is_it = |block: &&PromptBlock| match what {
            Stripped::Media => block.media > 0,
            Stripped::Thinking => block.kind.is_thinking(),
        };
        let blocks = shown.messages.iter().flat_map(|message| &message.blocks);
        let found: Vec<Seq> = blocks.filter(is_it).map(|block| block.origin.seq()).collect();
        let edited = self.decisions.first_edit().filter(|_| what == Stripped::Thinking);
        let after_edit = found.iter().filter(|seq| edited.is_some_and(|edited| **seq >= edited));
        after_edit.min().or(found.iter().min()).copied()
    }
}

/// The same request once more, after a wait; not for ever.
fn wait(attempt: u32, error: &ModelError, told: &mut api::Recovered) {
    if let Some(wait) = backoff(attempt.saturating_sub(1), error.retry_after) {
        told.wait_ms = u64::try_from(wait.as_millis()).ok();
        say(told, WAIT, format!("try again in {} s", wait.as_secs_f32().ceil()));
        return;
    }
    let detail = match error.retry_after.filter(|asked| *asked > LONGEST_ASKED_WAIT) {
        Some(asked) => {
            format!("the provider wants to be left alone for {} s: {error}", asked.as_secs())
        }
        None => format!("{attempt} tries failed: {error}"),
    };
    say(told, NONE, detail);
}

fn say(told: &mut api::Recovered, step: &'static str, detail: String) {
    step.clone_into(&mut told.step);
    told.detail = detail;
}
