//! Level 2: a summary that a model writes, asked over the session's own prompt.

use bethink_compactor::full::{self, FullInstruction, FullText};
use bethink_compactor::limits::{SUMMARY_MAX_TOKENS, SUMMARY_PERCENT};
use bethink_compactor::{Level, Trigger};
use bethink_model::Request;
use bethink_transcript::{Seq, SessionId};

use super::Wish;
use crate::hot::HotSession;
use crate::models::{Errand, Purpose};
use crate::{Daemon, Kind, Refusal, Result};

/// A summary is one answer. A model that calls a tool is told once that it must not.
const TURNS: u32 = 2;

/// What is asked, and of which messages the answer will speak.
pub(crate) struct Asked {
    request: Request,
    through: Seq,
}

/// What a model wrote.
pub(crate) struct Written {
    pub(crate) text: FullText,
    pub(crate) through: Seq,
}

/// What a summary may have of this window.
fn own_share(hot: &HotSession) -> u64 {
    let room = hot.thresholds.auto.saturating_sub(hot.fixed_tokens);
    (room * SUMMARY_PERCENT / 100).min(SUMMARY_MAX_TOKENS)
}

impl Daemon {
    /// The request for a summary; `None` where the wish, the settings or earlier failures forbid to ask.
    pub(crate) async fn full_request(
        &self,
        hot: &HotSession,
        wish: &Wish,
    ) -> Result<Option<Asked>> {
        let by_name = wish.level == Some(Level::Full);
        if !by_name && wish.level.is_some() {
            return Ok(None);
        }
        let Some(model) = self.model_for(Purpose::Summary, &hot.model.name) else {
            if by_name {
                let detail = "level full is not available: the daemon has no model for it";
                let hint = self.models().fault().unwrap_or(
                    "configure [model], or leave the level out, or ask for \"session_memory\" or \"embedded\"",
                );
                return Err(Refusal::new(Kind::NotCompactable, detail).hint(hint));
            }
            return Ok(None);
        };
        if wish.trigger != Trigger::Manual
            && let Some(reason) = self.model_rests(hot.session.id, Purpose::Summary)
        {
            tracing::info!(session = %hot.session.id, %reason, "the summary is embedded");
            return Ok(None);
        }
        let instruction = full::instruction(&FullInstruction {
            focus: wish.focus.as_deref(),
            compact_instructions: self.compact_instructions(hot).await.as_deref(),
            summary_tokens: Some(wish.summary_tokens.unwrap_or_else(|| own_share(hot))),
        });
        let prefix = hot.prefix()?.without_media();
        let through = prefix.through;
        let request = prefix.request(model, &instruction, self.settings().model.max_output)?;
        Ok(Some(Asked { request, through }))
    }

    /// Asks for it and reads the answer; what went wrong is added to `tried`.
    pub(crate) async fn write_full(
        &self,
        session: SessionId,
        asked: Asked,
        tried: &mut Vec<String>,
    ) -> Option<Written> {
        let errand = Errand {
            session: Some(session),
            purpose: Purpose::Summary,
            request: &asked.request,
            tools: &[],
            turns: TURNS,
        };
        let told = self.ask(errand).await;
        tried.extend(told.tried.into_iter().map(|reason| format!("full: {reason}")));
        let text = full::read(&told.ended.ok()?.text);
        self.judged(session, Purpose::Summary, text.is_ok());
        match text {
            Ok(text) => Some(Written { text, through: asked.through }),
            Err(fault) => {
                let step = serde_json::json!({ "step": "refused", "message": fault.to_string() });
                self.tell_model(errand, &step);
                tried.push(format!("full: {fault}"));
                None
            }
        }
    }
}
