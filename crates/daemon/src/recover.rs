//! A provider refused a prompt that we made: the error is classified, and the one thing that can help is
//! done, once. What was done already for the same prompt is never done again (specification, section 4).

use std::sync::Arc;
use std::time::Duration;

use bethink_api as api;
use bethink_compactor::Trigger;
use bethink_context::{Decision, Stripped};
use bethink_model::recovery::backoff;
use bethink_model::{Class, ModelError, Retry};
use bethink_transcript::{Seq, SessionId};
use serde_json::{Value, json};

use crate::compactions::Wish;
use crate::hot::{HotSession, Slot};
use crate::{Daemon, Refusal, Result};

/// The smallest answer that is worth asking for instead of compacting.
const LEAST_OUTPUT: u64 = 1_024;

/// Steps that were taken for the prompt that stands now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovering {
    /// Newest message when the first of them was taken; a newer answer begins anew.
    after: Seq,
    taken: Vec<&'static str>,
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
        let error = read(&request)?;
        let slot = self.hot(id).await?;
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
        match error.class {
            Class::Overflow => self.make_room(slot, error, told).await,
            Class::OutputOverflow => match smaller_output(error, request.max_tokens) {
                Some(fits) if self.first_time(slot, SHRINK_OUTPUT).await? => {
                    told.max_tokens = Some(fits);
                    say(told, SHRINK_OUTPUT, format!("an answer of {fits} tokens fits"));
                    Ok(())
                }
                _ => self.make_room(slot, error, told).await,
            },
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
                if self.strip(slot, Stripped::Thinking, STRIP_THINKING).await? {
                    say(told, STRIP_THINKING, "thinking is left out of what was edited".to_owned());
                } else {
                    say(
                        told,
                        NONE,
                        "thinking was left out already; the same request would fail again"
                            .to_owned(),
                    );
                }
                Ok(())
            }
            class if class.retry() == Retry::Same => {
                let attempt = request.attempt.unwrap_or(1).max(1);
                match backoff(attempt - 1, error.retry_after) {
                    Some(wait) => {
                        told.wait_ms = u64::try_from(wait.as_millis()).ok();
                        say(told, WAIT, format!("try again in {} s", wait.as_secs_f32().ceil()));
                    }
                    None => say(told, NONE, format!("{attempt} tries failed: {error}")),
                }
                Ok(())
            }
            _ => {
                say(told, NONE, format!("asking again can't help: {error}"));
                Ok(())
            }
        }
    }

    /// Staged collapses first, then one compaction that knows by how much it was too long.
    async fn make_room(
        &self,
        slot: &Arc<Slot>,
        error: &ModelError,
        told: &mut api::Recovered,
    ) -> Result<()> {
        if self.drained(slot).await? {
            say(told, COLLAPSE, "spans that were staged are collapsed".to_owned());
            return Ok(());
        }
        if !self.first_time(slot, COMPACT).await? {
            say(told, NONE, "it was compacted already and is still too long: shorten system or tools, or give the session a larger window".to_owned());
            return Ok(());
        }
        let figures = error.figures;
        let wish =
            Wish { counted: figures.input, limit: figures.limit, ..Wish::of(Trigger::Reactive) };
        match self.compact_slot(slot, wish).await {
            Ok(done) => {
                told.compaction = Some(done.id.to_string());
                let (before, after) = (done.tokens_before, done.tokens_after);
                say(told, COMPACT, format!("compacted from {before} to {after} tokens"));
            }
            Err(refusal) => say(told, NONE, format!("no compaction helps: {}", refusal.detail)),
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

    /// Leaves a kind of block out of all that was said until now; `false` if that was done before or
    /// changes nothing.
    async fn strip(&self, slot: &Arc<Slot>, what: Stripped, step: &'static str) -> Result<bool> {
        let mut hot = slot.lock(self).await?;
        let (from, through) = (hot.decisions.kept_from(), hot.session.last_seq);
        let has = |kind: Stripped, block: &bethink_transcript::Block| match kind {
            Stripped::Media => block.media > 0,
            Stripped::Thinking => block.kind.is_thinking(),
        };
        let first = hot.history.from(from).iter().map(|entry| &entry.message).find(|message| {
            let shown = !hot.decisions.is_stripped(what, message.seq);
            shown && message.blocks.iter().any(|block| has(what, block))
        });
        let Some(first) = first.map(|message| message.seq) else { return Ok(false) };
        if !hot.take(step) {
            return Ok(false);
        }
        let first = match what {
            Stripped::Media => first,
            Stripped::Thinking => {
                let edited = hot.decisions.edits().iter().map(|edit| edit.from).min();
                edited.map_or(first, |edited| edited.max(first))
            }
        };
        let record = Decision::Stripped { what, from: first, through, made_after: through };
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
        let role = bethink_transcript::Role::Assistant;
        let newest = self.history.entries().iter().rev().find(|e| e.message.role == role);
        newest.map_or(Seq::ZERO, |entry| entry.message.seq)
    }
}

fn say(told: &mut api::Recovered, step: &'static str, detail: String) {
    step.clone_into(&mut told.step);
    told.detail = detail;
}

/// What `max_tokens` may be so that the prompt fits beside it.
fn smaller_output(error: &ModelError, asked: Option<u64>) -> Option<u64> {
    let figures = error.figures;
    let free = figures.limit?.checked_sub(figures.input?)?;
    let asked = figures.output.or(asked).unwrap_or(u64::MAX);
    (free >= LEAST_OUTPUT && free < asked).then_some(free)
}

fn read(request: &api::RecoverRequest) -> Result<ModelError> {
    const MOST_SECONDS: f64 = 86_400.0;
    let body = match &request.error {
        Value::String(text) => text.clone(),
        Value::Object(_) => request.error.to_string(),
        _ => {
            return Err(Refusal::invalid(
                "error",
                "must be the provider's JSON object, or its text as a string",
            ));
        }
    };
    let retry_after = match request.retry_after {
        None => None,
        Some(seconds) if (0.0..=MOST_SECONDS).contains(&seconds) => {
            Some(Duration::from_secs_f64(seconds))
        }
        Some(_) => {
            return Err(Refusal::invalid("retry_after", format!("0 to {MOST_SECONDS} seconds")));
        }
    };
    let error = bethink_model_http::read_error(request.status, &body);
    Ok(ModelError { retry_after: retry_after.or(error.retry_after), ..error })
}
