//! Assembles an answer in the format of the Messages API, from the chunks or the whole message of chat completions.

use std::collections::HashSet;

use bethink_model::{ErrorClass, Reply, Stop};
use bethink_sse::SseEvent;
use bethink_transcript::json::encode_string;
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::DONE;
use crate::answer::{self, Literal};
use crate::dialect::{DeltaTaken, ReplyMeta, Stream, read_answer};
use crate::trouble::ProviderTrouble;

/// Maximum number of tool calls in an answer. Models make about a dozen. The limit bounds the search for the call that
/// a piece belongs to.
const MAX_CALLS: usize = 1_000;

#[derive(Deserialize)]
pub(super) struct StreamChunk {
    id: Option<String>,
    model: Option<String>,
    choices: Option<Vec<Choice>>,
    usage: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    /// Called `delta` in a stream and `message` in a whole answer.
    #[serde(alias = "message")]
    delta: Option<MessageDelta>,
    finish_reason: Option<String>,
}

/// The members of a message that are read. Reasoning is ignored: its name differs between servers, it is not signed,
/// and it is not needed later.
#[derive(Deserialize)]
struct MessageDelta {
    content: Option<Box<RawValue>>,
    refusal: Option<Box<RawValue>>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Deserialize)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<Box<RawValue>>,
}

#[derive(Debug, Default)]
pub(crate) struct GatheredAnswer {
    meta: ReplyMeta,
    text: Literal,
    refusal: Literal,
    calls: Vec<ToolCallParts>,
    finish: Option<String>,
}

#[derive(Debug, Default)]
struct ToolCallParts {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: Literal,
}

impl Stream for GatheredAnswer {
    fn take(&mut self, event: &SseEvent) -> Result<DeltaTaken, ProviderTrouble> {
        if event.data.trim() == DONE {
            return Ok(DeltaTaken::Last);
        }
        self.add(read_answer(&event.data, "the answer")?)?;
        Ok(DeltaTaken::More)
    }

    /// Returns the answer. A stream without `[DONE]` is complete if it has a finish reason, because not every server
    /// sends `[DONE]`. In that case only the usage may be missing, and the usage is then marked as doubtful.
    fn end(self) -> Result<Reply, ProviderTrouble> {
        let stop = self.stop()?;
        let mut blocks = Vec::with_capacity(self.calls.len() + 2);
        for text in [&self.text, &self.refusal] {
            if !text.is_empty() {
                blocks.push(format!(r#"{{"type":"text","text":{}}}"#, text.json()));
            }
        }
        let mut used = HashSet::new();
        for call in self.calls {
            blocks.push(call.block(&mut used)?);
        }
        let content = answer::blocks(&format!("[{}]", blocks.join(",")))?;
        Ok(self.meta.reply(content, stop))
    }

    fn meta(&self) -> &ReplyMeta {
        &self.meta
    }
}

impl GatheredAnswer {
    pub(super) fn add(&mut self, chunk: StreamChunk) -> Result<(), ProviderTrouble> {
        self.meta.take_names(chunk.id.as_deref(), chunk.model.as_deref());
        self.meta.tally.take_openai(chunk.usage.as_deref());
        // Only one answer was requested.
        let choices = chunk.choices.unwrap_or_default();
        let Some(choice) = choices.into_iter().find(|choice| choice.index.unwrap_or(0) == 0) else {
            return Ok(());
        };
        if let Some(finish) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(finish.chars().take(80).collect());
        }
        let Some(said) = choice.delta else { return Ok(()) };
        for piece in said.tool_calls.unwrap_or_default() {
            self.call(piece)?;
        }
        if let Some(refusal) = said.refusal {
            self.refusal.push(&refusal);
        }
        match said.content {
            Some(array) if array.get().starts_with('[') => {
                self.text.push_text(&parts(&array)?);
            }
            Some(text) => drop(self.text.push(&text)),
            None => {}
        }
        Ok(())
    }

    fn call(&mut self, piece: CallPiece) -> Result<(), ProviderTrouble> {
        let id = piece.id.as_deref().unwrap_or_default();
        let call = self.call_of(piece.index, id)?;
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        let Some(function) = piece.function else { return Ok(()) };
        if call.name.is_empty() {
            call.name = function.name.unwrap_or_default();
        }
        match function.arguments {
            Some(text) if text.get().starts_with('"') => drop(call.arguments.push(&text)),
            // Some servers send the object itself.
            Some(object) if object.get() != "null" => call.arguments.push_text(object.get()),
            _ => {}
        }
        Ok(())
    }

    /// Returns the call that a piece belongs to: the call with the piece's index, or the last call if the server sends
    /// no index. A different id begins a new call regardless of the index, because some servers always send 0.
    fn call_of(
        &mut self,
        index: Option<u64>,
        id: &str,
    ) -> Result<&mut ToolCallParts, ProviderTrouble> {
        let fits = |call: &ToolCallParts| {
            (index.is_none() || call.index == index)
                && (id.is_empty() || call.id.is_empty() || call.id == id)
        };
        let at = match self.calls.iter().rposition(fits) {
            Some(at) if index.is_some() || !id.is_empty() || at + 1 == self.calls.len() => at,
            _ => {
                if self.calls.len() >= MAX_CALLS {
                    let what = format!("the answer has more than {MAX_CALLS} tool calls");
                    return Err(ProviderTrouble::Detected(ErrorClass::TooMuch, what));
                }
                self.calls.push(ToolCallParts { index, ..ToolCallParts::default() });
                self.calls.len() - 1
            }
        };
        self.calls.get_mut(at).ok_or_else(|| ProviderTrouble::broken("a tool call is missing"))
    }

    /// Reads the finish reason. An answer without a finish reason may have been cut off, so it is rejected.
    fn stop(&self) -> Result<Stop, ProviderTrouble> {
        let Some(finish) = self.finish.as_deref() else {
            return Err(ProviderTrouble::broken("the answer has no finish_reason"));
        };
        Ok(match finish {
            // Several servers send "stop" even with calls.
            "stop" | "tool_calls" | "function_call" if !self.calls.is_empty() => Stop::ToolUse,
            "stop" if !self.refusal.is_empty() => Stop::Refusal,
            "stop" | "tool_calls" | "function_call" => Stop::EndTurn,
            "length" => Stop::MaxTokens,
            "content_filter" => Stop::Refusal,
            other => Stop::Other(other.to_owned()),
        })
    }
}

impl ToolCallParts {
    /// Returns the call as a block. A missing or repeated id is replaced, because the call's result refers to it.
    fn block(mut self, used: &mut HashSet<String>) -> Result<String, ProviderTrouble> {
        if self.name.is_empty() {
            return Err(ProviderTrouble::broken("a tool call in the answer has no name"));
        }
        if self.id.is_empty() || used.contains(&self.id) {
            self.id = format!("call_{}", Uuid::new_v4().simple());
        }
        let block = format!(
            r#"{{"type":"tool_use","id":{},"name":{},"input":{}}}"#,
            encode_string(&self.id),
            encode_string(&self.name),
            answer::input(&self.arguments.text()),
        );
        used.insert(self.id);
        Ok(block)
    }
}

/// Returns the text of a content array.
fn parts(content: &RawValue) -> Result<String, ProviderTrouble> {
    #[derive(Deserialize)]
    struct TextPart {
        text: Option<String>,
    }
    let parts: Vec<TextPart> = serde_json::from_str(content.get())
        .map_err(|e| ProviderTrouble::no_json("the answer's content", &e))?;
    Ok(parts.into_iter().filter_map(|part| part.text).collect())
}
