//! Assembles a `generateContent` answer from its chunks or from its whole body.

use std::borrow::Cow;

use bethink_model::{ErrorClass, Reply, Stop};
use bethink_sse::SseEvent;
use bethink_transcript::BlockKind;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{ContentPart, ContentReader, given};
use crate::answer::{self, Literal};
use crate::dialect::{DeltaTaken, ReplyMeta, Stream, read_answer};
use crate::trouble::ProviderTrouble;

/// Maximum number of parts in an answer, after the pieces of a text are joined. Models make a few dozen.
const MAX_PARTS: usize = 10_000;

/// A response, or one chunk of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerateContentBody<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    usage_metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model_version: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    response_id: Option<Cow<'a, str>>,
    prompt_feedback: Option<PromptFeedback<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow)]
    content: Option<CandidateContent<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct CandidateContent<'a> {
    #[serde(borrow)]
    parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback<'a> {
    #[serde(borrow, default)]
    block_reason: Option<Cow<'a, str>>,
}

/// A part of the answer.
#[derive(Debug)]
enum GatheredPart {
    /// Joined pieces of a text, up to and including the first piece with a signature.
    Text { text: Literal, is_thought: bool, signature: Option<String> },
    /// Any other part, as JSON. Such a part arrives whole.
    Other(String),
}

#[derive(Debug, Default)]
pub(crate) struct GatheredContent {
    /// Index of the answer's message in its conversation.
    message: usize,
    meta: ReplyMeta,
    parts: Vec<GatheredPart>,
    /// Why the answer ended; `None` if it has not ended.
    finish: Option<Stop>,
}

impl Stream for GatheredContent {
    fn take(&mut self, event: &SseEvent) -> Result<DeltaTaken, ProviderTrouble> {
        self.add(&read_answer(&event.data, "the answer")?)?;
        Ok(DeltaTaken::More)
    }

    fn end(self) -> Result<Reply, ProviderTrouble> {
        let Some(mut stop) = self.finish else {
            return Err(ProviderTrouble::broken("the answer has no finishReason"));
        };
        let parts = self.parts.into_iter().map(GatheredPart::json).collect();
        let message = ContentReader::at(self.message).message_of(true, parts);
        let message =
            message.ok_or_else(|| ProviderTrouble::broken("a part of the answer is invalid"))?;
        let content = answer::message(message.json.into())?.blocks.into_vec();
        let has_calls = content.iter().any(|block| matches!(block.kind, BlockKind::ToolUse { .. }));
        if stop == Stop::EndTurn && has_calls {
            stop = Stop::ToolUse;
        }
        Ok(self.meta.reply(content, stop))
    }

    fn meta(&self) -> &ReplyMeta {
        &self.meta
    }
}

impl GatheredContent {
    pub(super) fn new(message: usize) -> Self {
        Self { message, ..Self::default() }
    }

    pub(super) fn add(&mut self, body: &GenerateContentBody<'_>) -> Result<(), ProviderTrouble> {
        self.meta.take_names(body.response_id.as_deref(), body.model_version.as_deref());
        self.meta.tally.take_gemini(body.usage_metadata);
        let is_blocked =
            body.prompt_feedback.as_ref().is_some_and(|feedback| feedback.block_reason.is_some());
        if is_blocked {
            self.finish = Some(Stop::Refusal);
        }
        // A client that asks for several answers continues with one of its choice.
        let candidates = body.candidates.iter().flatten();
        for candidate in candidates.filter(|candidate| candidate.index.unwrap_or(0) == 0) {
            let parts = candidate.content.iter().filter_map(|content| content.parts.as_ref());
            for part in parts.flatten() {
                self.add_part(part)?;
            }
            self.finish = candidate.finish_reason.as_deref().map(stop).or(self.finish.take());
        }
        Ok(())
    }

    fn add_part(&mut self, raw: &RawValue) -> Result<(), ProviderTrouble> {
        let part: ContentPart<'_> = serde_json::from_str(raw.get())
            .map_err(|e| ProviderTrouble::no_json("a part of the answer", &e))?;
        if self.parts.len() >= MAX_PARTS {
            let what = format!("the answer has more than {MAX_PARTS} parts");
            return Err(ProviderTrouble::Detected(ErrorClass::TooMuch, what));
        }
        let Some(piece) = given(part.text).filter(|text| text.get().starts_with('"')) else {
            self.parts.push(GatheredPart::Other(raw.get().to_owned()));
            return Ok(());
        };
        let is_thought = part.thought.is_some_and(|thought| thought.get() == "true");
        let signature = given(part.thought_signature).map(|raw| raw.get().to_owned());
        let broken = || ProviderTrouble::broken("a text part of the answer is not a valid string");
        match self.parts.last_mut() {
            Some(GatheredPart::Text { text, is_thought: before, signature: open @ None })
                if *before == is_thought =>
            {
                text.push(piece).ok_or_else(broken)?;
                *open = signature;
            }
            _ => {
                let mut text = Literal::default();
                text.push(piece).ok_or_else(broken)?;
                self.parts.push(GatheredPart::Text { text, is_thought, signature });
            }
        }
        Ok(())
    }
}

impl GatheredPart {
    fn json(self) -> String {
        match self {
            Self::Other(raw) => raw,
            Self::Text { text, is_thought, signature } => {
                let thought = if is_thought { ",\"thought\":true" } else { "" };
                let signature = signature
                    .map_or_else(String::new, |raw| format!(",\"thoughtSignature\":{raw}"));
                format!("{{\"text\":{}{thought}{signature}}}", text.json())
            }
        }
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "STOP" => Stop::EndTurn,
        "MAX_TOKENS" => Stop::MaxTokens,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
            Stop::Refusal
        }
        other => Stop::Other(other.chars().take(80).collect()),
    }
}
