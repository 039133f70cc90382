//! Assembles a Responses API answer from its events or from its whole body.

use std::borrow::Cow;

use bethink_model::{ErrorClass, Reply, Stop};
use bethink_sse::SseEvent;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::item::{ItemSpeaker, ResponseItem};
use crate::answer;
use crate::dialect::{DeltaTaken, ReplyMeta, Stream, read_answer};
use crate::trouble::{ProviderRefusal, ProviderTrouble};

/// Maximum number of items in an answer. Models make a few dozen.
const MAX_ITEMS: usize = 10_000;

/// The members of an event that are read. Pieces of text are ignored, because the finished item repeats the text.
#[derive(Deserialize)]
struct ResponseEvent<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    response: Option<&'a RawValue>,
    item: Option<&'a RawValue>,
}

/// A response without its other members.
#[derive(Deserialize)]
pub(super) struct ResponseBody<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    status: Option<Cow<'a, str>>,
    output: Option<Vec<&'a RawValue>>,
    usage: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    incomplete_details: Option<IncompleteDetails<'a>>,
}

#[derive(Deserialize)]
struct IncompleteDetails<'a> {
    #[serde(borrow, default)]
    reason: Option<Cow<'a, str>>,
}

#[derive(Debug, Default)]
pub(crate) struct GatheredResponse {
    meta: ReplyMeta,
    /// The finished items, as JSON.
    items: Vec<String>,
    /// Why the answer ended; `None` if it has not ended.
    stop: Option<Stop>,
}

impl Stream for GatheredResponse {
    fn take(&mut self, event: &SseEvent) -> Result<DeltaTaken, ProviderTrouble> {
        // Some servers send the marker of chat completions after the last event.
        if event.data.trim() == "[DONE]" {
            return Ok(DeltaTaken::More);
        }
        self.add(&read_answer(&event.data, "an event in the answer's stream")?)
    }

    fn end(self) -> Result<Reply, ProviderTrouble> {
        let Some(mut stop) = self.stop else {
            return Err(ProviderTrouble::broken("the answer is not complete"));
        };
        let mut blocks = Vec::with_capacity(self.items.len());
        for raw in &self.items {
            // What cannot be read is kept as it is.
            let item =
                ResponseItem::read(raw).filter(|item| item.speaker() == ItemSpeaker::Assistant);
            match item.and_then(|item| item.blocks()) {
                Some(found) => blocks.extend(found),
                None => blocks.push(raw.clone()),
            }
        }
        let content = answer::blocks(&format!("[{}]", blocks.join(",")))?;
        let calls = |block: &bethink_transcript::Block| {
            matches!(block.kind, bethink_transcript::BlockKind::ToolUse { .. })
        };
        if stop == Stop::EndTurn && content.iter().any(calls) {
            stop = Stop::ToolUse;
        }
        Ok(self.meta.reply(content, stop))
    }

    fn meta(&self) -> &ReplyMeta {
        &self.meta
    }
}

impl GatheredResponse {
    fn add(&mut self, event: &ResponseEvent<'_>) -> Result<DeltaTaken, ProviderTrouble> {
        match &*event.kind {
            "response.created" | "response.queued" | "response.in_progress" => {
                if let Some(begun) = event.response.and_then(|raw| read(raw).ok()) {
                    self.begin(&begun);
                }
            }
            "response.output_item.done" => {
                if self.items.len() >= MAX_ITEMS {
                    let what = format!("the answer has more than {MAX_ITEMS} items");
                    return Err(ProviderTrouble::Detected(ErrorClass::TooMuch, what));
                }
                self.items.extend(event.item.map(|item| item.get().to_owned()));
            }
            "response.completed" | "response.incomplete" => {
                let raw = event.response;
                let raw = raw.ok_or_else(|| {
                    ProviderTrouble::broken("an event in the answer's stream has no response")
                })?;
                self.end_with(&read(raw)?)?;
                return Ok(DeltaTaken::Last);
            }
            _ => {}
        }
        Ok(DeltaTaken::More)
    }

    fn begin(&mut self, response: &ResponseBody<'_>) {
        self.meta.take_names(response.id.as_deref(), response.model.as_deref());
    }

    /// Takes the whole response. Items that have already been streamed are kept, because some servers leave them out of
    /// the final response.
    pub(super) fn end_with(&mut self, response: &ResponseBody<'_>) -> Result<(), ProviderTrouble> {
        self.begin(response);
        self.meta.tally.take_responses(response.usage);
        if let Some(error) = response.error.filter(|error| error.get() != "null") {
            let error = format!(r#"{{"error":{}}}"#, error.get());
            let refusal = ProviderRefusal::in_answer(&error).unwrap_or_default();
            return Err(ProviderTrouble::Refused(refusal));
        }
        if self.items.is_empty() {
            let output = response.output.iter().flatten().take(MAX_ITEMS);
            self.items = output.map(|item| item.get().to_owned()).collect();
        }
        let reason = response.incomplete_details.as_ref().and_then(|why| why.reason.as_deref());
        self.stop = match (response.status.as_deref(), reason) {
            (Some("completed"), _) => Some(Stop::EndTurn),
            (Some("incomplete"), Some("max_output_tokens")) => Some(Stop::MaxTokens),
            (Some("incomplete"), Some("content_filter")) => Some(Stop::Refusal),
            (Some("incomplete"), Some(other)) => {
                Some(Stop::Other(other.chars().take(80).collect()))
            }
            (Some("incomplete"), None) => Some(Stop::Other("incomplete".to_owned())),
            // Queued, in progress, cancelled or failed.
            _ => None,
        };
        Ok(())
    }
}

fn read(raw: &RawValue) -> Result<ResponseBody<'_>, ProviderTrouble> {
    serde_json::from_str(raw.get()).map_err(|e| ProviderTrouble::no_json("the answer", &e))
}
