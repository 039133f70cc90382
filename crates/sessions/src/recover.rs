//! Recovery after a provider refused a prompt: classifies the error and takes the one step that can help. A step that changes
//! the prompt is never repeated for the same prompt.
//!
//! Reading order: `refusal` (the client's report of the error) → here.

mod refusal;

use std::sync::Arc;

use bethink_api as api;
use bethink_api::RecoveryStep;
use bethink_compactor::Trigger;
use bethink_context::thresholds::MIN_WINDOW;
use bethink_context::{Decision, Stripped, view};
use bethink_model::recovery::{LONGEST_ASKED_WAIT, backoff};
use bethink_model::{ErrorClass, ModelError, Retry};
use bethink_models::ClientModel;
use bethink_service::{ErrorKind, Event, Result};
use bethink_transcript::{PromptBlock, Role, Seq, SessionId};

use crate::compactions::CompactionRequest;
use crate::handle::SessionHandle;
use crate::loaded::{LoadedSession, Recovering};
use crate::service::SessionService;
use refusal::shorter_answer;

/// A refused prompt.
struct Refusal<'a> {
    request: &'a api::RecoverRequest,
    error: &'a ModelError,
    client_model: Option<ClientModel>,
}

/// A step, and its description.
type Step = (RecoveryStep, String);

impl SessionService {
    pub async fn recover(
        &self,
        id: SessionId,
        request: api::RecoverRequest,
    ) -> Result<api::Recovered> {
        self.recover_with(id, request, None).await
    }

    /// Like [`recover`](Self::recover), for a client whose own model writes summaries.
    pub async fn recover_with(
        &self,
        id: SessionId,
        request: api::RecoverRequest,
        client_model: Option<ClientModel>,
    ) -> Result<api::Recovered> {
        let error = refusal::read(&request)?;
        let handle = self.handle(id).await?;
        let hint = "append the messages that were sent, then report the provider's error";
        self.lock(&handle).await?.require_messages(hint)?;
        let mut response = api::Recovered {
            class: error.class,
            input_tokens: error.figures.input,
            output_tokens: error.figures.output,
            limit: error.figures.limit,
            ..api::Recovered::default()
        };
        let refusal = Refusal { request: &request, error: &error, client_model };
        let (step, detail) = self.take_step(&handle, &refusal, &mut response).await?;
        (response.step, response.detail) = (step, detail);
        response.retry = step != RecoveryStep::None;
        metrics::counter!("bethink_recoveries_total", "class" => response.class.to_string(), "step" => response.step.to_string())
            .increment(1);
        tracing::info!(session = %id, class = %response.class, step = %response.step, detail = %response.detail, "recover");
        let event = Event::Recovery {
            class: response.class,
            step: response.step,
            detail: response.detail.clone(),
            wait_ms: response.wait_ms,
            max_tokens: response.max_tokens,
            compaction: response.compaction.clone(),
        };
        self.cx.hub().publish(id, Seq::ZERO, &event);
        Ok(response)
    }

    /// Takes a step and returns it with its description; figures are added to `response`.
    async fn take_step(
        &self,
        handle: &Arc<SessionHandle>,
        refusal: &Refusal<'_>,
        response: &mut api::Recovered,
    ) -> Result<Step> {
        let Refusal { request, error, .. } = refusal;
        if request.heard {
            let detail = format!("the answer was interrupted after part of it was shown: {error}");
            return nothing(detail);
        }
        match error.class {
            ErrorClass::Overflow => self.make_room(handle, refusal, response).await,
            ErrorClass::OutputOverflow => self.shorten_answer(handle, refusal, response).await,
            ErrorClass::MediaTooLarge | ErrorClass::RequestTooLarge => {
                if self.strip(handle, Stripped::Media, RecoveryStep::StripMedia).await? {
                    let detail = "images and documents are left out of the prompt".to_owned();
                    return Ok((RecoveryStep::StripMedia, detail));
                }
                if error.class == ErrorClass::RequestTooLarge {
                    return self.make_room(handle, refusal, response).await;
                }
                nothing("there are no more images or documents to leave out")
            }
            ErrorClass::ThinkingBound => {
                if !self.strip(handle, Stripped::Thinking, RecoveryStep::StripThinking).await? {
                    return nothing("there are no more thinking blocks to leave out");
                }
                let detail = "thinking blocks are left out of the prompt".to_owned();
                Ok((RecoveryStep::StripThinking, detail))
            }
            class if Retry::after(class) == Retry::Same => {
                let attempt = match request.attempt {
                    Some(attempt) => attempt,
                    None => self.lock(handle).await?.repeats(),
                };
                Ok(wait(attempt, error, response))
            }
            _ => nothing(format!("retrying cannot help: {error}")),
        }
    }

    /// Lowers the output limit if that makes enough room, otherwise shortens the prompt.
    async fn shorten_answer(
        &self,
        handle: &Arc<SessionHandle>,
        refusal: &Refusal<'_>,
        response: &mut api::Recovered,
    ) -> Result<Step> {
        let Refusal { request, error, .. } = refusal;
        match shorter_answer(error, request.max_tokens) {
            Some(fits) if self.lock(handle).await?.take(RecoveryStep::ShrinkOutput) => {
                response.max_tokens = Some(fits);
                Ok((RecoveryStep::ShrinkOutput, format!("an answer of at most {fits} tokens fits")))
            }
            _ => match (error.figures.input, error.figures.limit) {
                // The limit applies to the answer only, so a shorter prompt would not help.
                (None, Some(most)) => nothing(format!("max_tokens must be {most} or less")),
                _ => self.make_room(handle, refusal, response).await,
            },
        }
    }

    /// Commits staged spans, or else makes one compaction, taking into account by how much the prompt was too long.
    async fn make_room(
        &self,
        handle: &Arc<SessionHandle>,
        refusal: &Refusal<'_>,
        response: &mut api::Recovered,
    ) -> Result<Step> {
        let error = refusal.error;
        if let Some(limit) = error.figures.limit.filter(|limit| *limit < MIN_WINDOW) {
            let detail = format!(
                "the provider accepts at most {limit} tokens, but a session needs at least {MIN_WINDOW}: load the model with a larger context window, or choose another model"
            );
            return nothing(detail);
        }
        let mut loaded = self.lock(handle).await?;
        if self.drain(&mut loaded).await? {
            return Ok((
                RecoveryStep::Collapse,
                "replaced old messages with the short texts prepared for them".to_owned(),
            ));
        }
        if !loaded.take(RecoveryStep::Compact) {
            let detail = "the prompt is still too long after a compaction: shorten the system prompt or the tools, or give the session a larger context window";
            return nothing(detail);
        }
        drop(loaded);
        let request = CompactionRequest {
            refused: Some(error.figures),
            client_model: refusal.client_model.clone(),
            ..CompactionRequest::new(Trigger::Reactive)
        };
        match Box::pin(self.compact_handle(handle, request)).await {
            Ok(done) => {
                response.compaction = Some(done.id.to_string());
                let (before, after) = (done.tokens_before, done.tokens_after);
                let window = self.lock(handle).await?.state.model.context_window;
                let smaller = error.figures.limit.filter(|limit| *limit < window);
                let advice = smaller.map_or_else(String::new, |limit| {
                    format!("; the provider accepts at most {limit} tokens, but the session's context window is {window}: set its model.context_window to {limit}")
                });
                let detail = format!("compacted from {before} to {after} tokens{advice}");
                Ok((RecoveryStep::Compact, detail))
            }
            Err(refusal) if refusal.kind == ErrorKind::NotCompactable => {
                nothing(format!("a compaction cannot help: {}", refusal.detail))
            }
            // The prompt is not the cause, so the step may be taken again.
            Err(refusal) => {
                let recovering = &mut self.lock(handle).await?.recovering;
                recovering.taken.retain(|step| *step != RecoveryStep::Compact);
                Err(refusal)
            }
        }
    }

    /// Leaves one kind of block out of prompts, from the first message concerned to the newest; returns `false` if that was
    /// already done or if the prompt has no such block.
    async fn strip(
        &self,
        handle: &Arc<SessionHandle>,
        what: Stripped,
        step: RecoveryStep,
    ) -> Result<bool> {
        let mut loaded = self.lock(handle).await?;
        let Some(from) = loaded.first_to_strip(what) else { return Ok(false) };
        if !loaded.take(step) {
            return Ok(false);
        }
        let through = loaded.session.last_seq;
        let record = Decision::Stripped { what, from, through, made_after: through };
        let mut decisions = loaded.state.decisions.clone();
        decisions.apply(&record, &loaded.state.history);
        self.keep_decisions(&mut loaded, decisions, &[record], self.cx.now()).await?;
        Ok(true)
    }
}

/// Returns the step that does nothing, for an error that no recovery step can fix, and the reason.
fn nothing(detail: impl Into<String>) -> Result<Step> {
    Ok((RecoveryStep::None, detail.into()))
}

impl LoadedSession {
    /// Records a step; returns `false` if it was already taken for this prompt.
    fn take(&mut self, step: RecoveryStep) -> bool {
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
        let entries = self.state.history.entries().iter().rev();
        let mut answers = entries.filter(|entry| entry.message.role == Role::Assistant);
        answers.next().map_or(Seq::ZERO, |entry| entry.message.seq)
    }

    /// Counts the retries of an unchanged prompt, for clients that do not count them.
    fn repeats(&mut self) -> u32 {
        let newest = self.session.last_seq;
        let (of, tries) = self.recovering.repeated;
        let tries = if of == newest { tries.saturating_add(1) } else { 1 };
        self.recovering.repeated = (newest, tries);
        tries
    }

    /// Returns the first message from which blocks are left out. Thinking is left out from the first edit on, because
    /// earlier thinking belongs to unchanged text; if no thinking follows an edit, the edit is not the cause.
    fn first_to_strip(&self, what: Stripped) -> Option<Seq> {
        let shown = view(&self.state.history, &self.state.decisions, self.state.view_options());
        let is_it = |block: &&PromptBlock| match what {
            Stripped::Media => block.media > 0,
            Stripped::Thinking => block.kind.is_thinking(),
        };
        let blocks = shown.messages.iter().flat_map(|message| &message.blocks);
        let found: Vec<Seq> = blocks.filter(is_it).map(|block| block.origin.seq()).collect();
        let edited = self.state.decisions.first_edit().filter(|_| what == Stripped::Thinking);
        let after_edit = found.iter().filter(|seq| edited.is_some_and(|edited| **seq >= edited));
        after_edit.min().or(found.iter().min()).copied()
    }
}

/// Advises retrying the same request after a wait, up to a limited number of times.
fn wait(attempt: u32, error: &ModelError, response: &mut api::Recovered) -> Step {
    if let Some(wait) = backoff(attempt.saturating_sub(1), error.retry_after) {
        response.wait_ms = u64::try_from(wait.as_millis()).ok();
        return (RecoveryStep::Wait, format!("try again in {} s", wait.as_secs_f32().ceil()));
    }
    let detail = match error.retry_after.filter(|asked| *asked > LONGEST_ASKED_WAIT) {
        Some(asked) => {
            format!("the provider said to retry after {} s: {error}", asked.as_secs())
        }
        None => format!("{attempt} attempts failed: {error}"),
    };
    (RecoveryStep::None, detail)
}
