//! Level 2: a model writes the summary as a continuation of the session's own prompt.

use bethink_compactor::full::{self, FullInstruction, FullText};
use bethink_compactor::limits::{SUMMARY_MAX_TOKENS, SUMMARY_PERCENT};
use bethink_compactor::{SummaryLevel, Trigger};
use bethink_model::{ModelRequest, Stop};
use bethink_models::{ClientModel, Errand, Purpose};
use bethink_service::{ErrorKind, ModelStep, Result, ServiceError};
use bethink_transcript::{Seq, SessionId};

use super::CompactionRequest;
use crate::loaded::LoadedSession;
use crate::service::SessionService;

/// Maximum number of turns: a model that calls a tool is not asked again.
const TURNS: u32 = 1;

/// A request for a summary, and the newest message that the summary will cover.
pub(crate) struct ModelSummaryRequest {
    request: ModelRequest,
    through: Seq,
    /// The client's own model, if it writes the summary.
    client: Option<ClientModel>,
}

/// A model's summary, and the newest message that it covers.
pub(crate) struct ModelSummary {
    pub(crate) text: FullText,
    pub(crate) through: Seq,
}

/// Returns the default size of a summary in this window, in tokens.
fn default_summary_tokens(loaded: &LoadedSession) -> u64 {
    let room = loaded.state.thresholds.auto.saturating_sub(loaded.state.fixed.total());
    (room * SUMMARY_PERCENT / 100).min(SUMMARY_MAX_TOKENS)
}

impl SessionService {
    /// Makes the request for a summary; returns `None` if the compaction request, the settings or earlier failures rule
    /// out a summary by a model.
    pub(crate) async fn full_request(
        &self,
        loaded: &LoadedSession,
        asked: &CompactionRequest,
    ) -> Result<Option<ModelSummaryRequest>> {
        let by_name = asked.level == Some(SummaryLevel::Full);
        if !by_name && asked.level.is_some() {
            return Ok(None);
        }
        // Otherwise, a model would be paid for one summary after another.
        if asked.trigger == Trigger::Auto
            && loaded.breakers.thrashing(&self.limits.compact).is_some()
        {
            return Ok(None);
        }
        let client = asked.client_model.clone();
        let configured = || self.models.model_for(Purpose::Summary, &loaded.state.model.name);
        let named = client.as_ref().map(|client| client.name.clone());
        let Some(model) = named.or_else(configured) else {
            if by_name {
                let settings = &self.cx.settings().model;
                let (why, hint) = match self.models.fault() {
                    Some(fault) => ("the model in [model] cannot be used", fault),
                    None if settings.is_on() && !settings.summaries_by_model() => (
                        "`summary` in [model] is \"embedded\"",
                        "set `model.summary` to \"model\" and restart the daemon, omit the level, or request \"session_memory\" or \"embedded\"",
                    ),
                    None => (
                        "no model is configured for it",
                        "configure [model], omit the level, or request \"session_memory\" or \"embedded\"",
                    ),
                };
                let detail = format!("level `full` is not available: {why}");
                return Err(ServiceError::new(ErrorKind::NotCompactable, detail).hint(hint));
            }
            return Ok(None);
        };
        if asked.trigger != Trigger::Manual
            && let Some(reason) = self.models.model_rests(loaded.session.id, Purpose::Summary)
        {
            tracing::info!(session = %loaded.session.id, %reason, "summarizing without a model");
            return Ok(None);
        }
        let instruction = full::instruction(&FullInstruction {
            focus: asked.focus.as_deref(),
            compact_instructions: self.compact_instructions(loaded).await.as_deref(),
            summary_tokens: asked.summary_tokens.or_else(|| Some(default_summary_tokens(loaded))),
        });
        let prefix = loaded.prefix()?.without_media();
        let through = prefix.through;
        let request = prefix.request(model, &instruction, self.cx.settings().model.max_output)?;
        Ok(Some(ModelSummaryRequest { request, through, client }))
    }

    /// Sends the request and reads the answer; errors are added to `tried`.
    pub(crate) async fn write_full(
        &self,
        session: SessionId,
        asked: ModelSummaryRequest,
        tried: &mut Vec<String>,
    ) -> Option<ModelSummary> {
        let errand = Errand {
            session: Some(session),
            purpose: Purpose::Summary,
            request: &asked.request,
            tools: &[],
            turns: TURNS,
            client: asked.client.as_ref(),
        };
        let answer = self.models.ask(errand).await;
        tried.extend(answer.tried.into_iter().map(|reason| format!("full: {reason}")));
        let finished = answer.ended.ok()?;
        let text = full::read(&finished.text);
        self.models.judged(session, Purpose::Summary, text.is_ok());
        match text {
            Ok(text) => Some(ModelSummary { text, through: asked.through }),
            Err(fault) => {
                let is_cut = finished.last.stop == Stop::MaxTokens;
                let why = if is_cut { "the answer was cut off at the output limit; " } else { "" };
                let message = format!("{why}{fault}");
                tried.push(format!("full: {message}"));
                self.models.tell_model(errand, ModelStep::Refused { message });
                None
            }
        }
    }
}
