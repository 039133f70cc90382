//! An answer of chat completions, gathered from chunks or from one whole message, as blocks of the
//! Messages API.

use std::borrow::Cow;
use std::collections::HashSet;

use bethink_model::{Class, Reply, Stop};
use bethink_transcript::json::encode_string;
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::answer::{self, Literal};
use crate::tee::Begun;
use crate::trouble::Trouble;
use crate::usage::Tally;

/// Most calls of tools in one answer. Models make a dozen; a bound keeps the search for the call of a piece
/// short.
const MAX_CALLS: usize = 1_000;

#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: Option<u64>,
    /// `delta` in a stream, `message` in a whole answer.
    #[serde(borrow, alias = "message", default)]
    delta: Option<Said<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
}

/// What of a message is read. Reasoning comes under many names, isn't signed, and is of no use later.
#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Deserialize)]
struct CallPiece<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    function: Option<FunctionPiece<'a>>,
}

#[derive(Deserialize)]
struct FunctionPiece<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Debug, Default)]
pub(super) struct Gathered {
    id: String,
    model: String,
    text: Literal,
    refusal: Literal,
    calls: Vec<Call>,
    finish: Option<String>,
    tally: Tally,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: Literal,
}

impl Gathered {
    /// Takes a chunk in; what of it is readable text is given back.
    pub(super) fn take<'a>(&mut self, chunk: Chunk<'a>) -> Result<Option<Cow<'a, str>>, Trouble> {
        first(&mut self.id, chunk.id);
        first(&mut self.model, chunk.model);
        self.tally.take_openai(chunk.usage);
        // One answer was asked for.
        let choices = chunk.choices.unwrap_or_default();
        let Some(choice) = choices.into_iter().find(|choice| choice.index.unwrap_or(0) == 0) else {
            return Ok(None);
        };
        if let Some(finish) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(finish.chars().take(80).collect());
        }
        let Some(said) = choice.delta else { return Ok(None) };
        for piece in said.tool_calls.unwrap_or_default() {
            self.call(piece)?;
        }
        if let Some(refusal) = said.refusal {
            self.refusal.push(refusal);
        }
        said.content.map_or(Ok(None), |content| self.say(content))
    }

    fn say<'a>(&mut self, content: &'a RawValue) -> Result<Option<Cow<'a, str>>, Trouble> {
        match content.get().as_bytes().first() {
            Some(b'"') => Ok(self.text.push(content)),
            Some(b'[') => {
                let text = parts(content)?;
                self.text.push_text(&text);
                Ok(Some(Cow::Owned(text)))
            }
            _ => Ok(None),
        }
    }

    fn call(&mut self, piece: CallPiece<'_>) -> Result<(), Trouble> {
        let id = piece.id.as_deref().unwrap_or_default();
        let call = self.call_of(piece.index, id)?;
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        let Some(function) = piece.function else { return Ok(()) };
        first(&mut call.name, function.name);
        match function.arguments {
            Some(text) if text.get().starts_with('"') => drop(call.arguments.push(text)),
            // Some servers send the object itself.
            Some(object) if object.get() != "null" => call.arguments.push_text(object.get()),
            _ => {}
        }
        Ok(())
    }

    /// The call that a piece belongs to: by index, or the last one where a server counts none. Another id
    /// begins another call whatever the index says, since some servers count all of them as 0.
    fn call_of(&mut self, index: Option<u64>, id: &str) -> Result<&mut Call, Trouble> {
        let fits = |call: &Call| {
            (index.is_none() || call.index == index)
                && (id.is_empty() || call.id.is_empty() || call.id == id)
        };
        let at = match self.calls.iter().rposition(fits) {
            Some(at) if index.is_some() || !id.is_empty() || at + 1 == self.calls.len() => at,
            _ => {
                if self.calls.len() >= MAX_CALLS {
                    let what = format!("the answer has more than {MAX_CALLS} calls of tools");
                    return Err(Trouble::Found(Class::TooMuch, what));
                }
                self.calls.push(Call { index, ..Call::default() });
                self.calls.len() - 1
            }
        };
        self.calls.get_mut(at).ok_or_else(|| Trouble::broken("a call of a tool is lost"))
    }

    pub(super) fn begun(&self) -> Begun {
        Begun::new(self.id.clone(), self.model.clone(), self.tally)
    }

    pub(super) fn end(self) -> Result<Reply, Trouble> {
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
        let (usage, usage_doubtful) = self.tally.end();
        Ok(Reply {
            id: self.id,
            model: self.model,
            content: answer::blocks(&format!("[{}]", blocks.join(",")))?,
            stop,
            usage,
            usage_doubtful,
        })
    }

    /// An answer without a reason for its end may have been cut off, and is none.
    fn stop(&self) -> Result<Stop, Trouble> {
        let Some(finish) = self.finish.as_deref() else {
            return Err(Trouble::broken("the answer ended without a finish_reason"));
        };
        Ok(match finish {
            // Several servers say "stop" beside calls.
            "stop" | "tool_calls" | "function_call" if !self.calls.is_empty() => Stop::ToolUse,
            "stop" if !self.refusal.is_empty() => Stop::Refusal,
            "stop" | "tool_calls" | "function_call" => Stop::EndTurn,
            "length" => Stop::MaxTokens,
            "content_filter" => Stop::Refusal,
            other => Stop::Other(other.to_owned()),
        })
    }
}

impl Call {
    /// A call needs an id of its own, for its result to name; where a server gives none, or one twice, it
    /// gets one here.
    fn block(mut self, used: &mut HashSet<String>) -> Result<String, Trouble> {
        if self.name.is_empty() {
            return Err(Trouble::broken("a call of a tool has no name"));
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

fn first(into: &mut String, found: Option<Cow<'_, str>>) {
    if let (true, Some(found)) = (into.is_empty(), found) {
        *into = found.into_owned();
    }
}

/// The text of content that comes in parts.
fn parts(content: &RawValue) -> Result<String, Trouble> {
    #[derive(Deserialize)]
    struct Part {
        #[serde(default)]
        text: Option<String>,
    }
    let parts: Vec<Part> = serde_json::from_str(content.get())
        .map_err(|e| Trouble::no_json("the answer's content", &e))?;
    Ok(parts.into_iter().filter_map(|part| part.text).collect())
}
