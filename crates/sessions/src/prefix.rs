//! A session's own prompt as a prefix: the bytes of its last request, the messages since, and an instruction at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bethink_context::{History, SessionState, view};
use bethink_model::{ClientForm, ClientMessage, ModelRequest, shrink};
use bethink_service::{Result, ServiceError};
use bethink_tokens::text_tokens;
use bethink_transcript::{
    BlockKind, CacheMark, Message, Origin, PromptBlock, PromptMessage, Role, Seq, ValidPrompt, json,
};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::sent::{SentFrame, SentMark, SentRequest};

#[derive(Clone, Debug)]
pub struct SessionPrefix {
    own_model: String,
    /// The newest message in the prompt.
    pub through: Seq,
    pub tools: Bytes,
    system: Bytes,
    prompt: ValidPrompt,
    marks: Vec<CacheMark>,
    form: ClientForm,
    /// Number of tokens in the window that the prompt leaves free.
    room: u64,
}

/// Minimum size of an answer that is worth requesting, in tokens.
const MIN_OUTPUT: u64 = 1_024;
/// Maximum number of breakpoints in a request of the Messages API.
const MAX_MARKS: usize = 4;

impl SessionPrefix {
    /// Makes the next prompt in the form of the last request.
    pub(crate) fn new(state: &SessionState, sent: Option<SentRequest>) -> Result<Self> {
        let shown = view(&state.history, &state.decisions, state.view_options());
        let prompt = ValidPrompt::check(shown.messages).map_err(|faults| {
            ServiceError::internal(format!("the session's prompt is not valid: {faults:?}"))
        })?;
        let sent = sent.unwrap_or_default();
        let messages = match sent.frame.own_messages {
            true => own_messages(&state.history, &sent),
            false => BTreeMap::new(),
        };
        let (parameters, betas) = (sent.frame.parameters.clone(), sent.frame.betas.clone());
        let form = ClientForm { parameters, betas, messages };
        let marks = marks(&prompt, &sent, &form);
        let tools = match sent.frame.tools.as_ref() {
            b"[]" => used_tools(&prompt),
            _ => sent.frame.tools.clone(),
        };
        let used = prompt.tokens() + state.fixed.total();
        Ok(Self {
            own_model: plain_name(&state.model.name).to_owned(),
            through: state.last_seq,
            tools,
            system: sent.frame.system.clone(),
            marks,
            form,
            room: state.thresholds.window.saturating_sub(used),
            prompt,
        })
    }

    pub fn without_media(mut self) -> Self {
        self.prompt = shrink::without_media(&self.prompt);
        self
    }

    /// Makes a request to `model` with the unchanged prompt.
    pub fn unchanged(self, model: String) -> ModelRequest {
        let same = plain_name(&model) == self.own_model;
        let Self { system, tools, prompt, marks, form, .. } = self;
        let form = Arc::new(if same { form } else { ClientForm::default() });
        ModelRequest { model, system, tools, prompt, marks, max_tokens: MIN_OUTPUT, form }
    }

    /// Makes a request to `model` with `instruction` at the end of the prompt.
    pub fn request(
        self,
        mut model: String,
        instruction: &str,
        max_output: u64,
    ) -> Result<ModelRequest> {
        model.truncate(plain_name(&model).len());
        let same = model == self.own_model;
        let mut messages = self.prompt.messages().to_vec();
        if !same {
            // Another model cannot read this model's thinking.
            messages = without_thinking(messages);
        }
        append(&mut messages, instruction);
        let prompt = ValidPrompt::check(messages).map_err(|faults| {
            ServiceError::internal(format!(
                "the prompt for bethink's own model call about this session is not valid: {faults:?}"
            ))
        })?;
        let room = self.room.saturating_sub(u64::from(text_tokens(instruction)));
        let form = if same { self.form } else { ClientForm::default() };
        // The output limit includes thinking.
        let thinking = thinking_budget(&form.parameters);
        Ok(ModelRequest {
            model,
            system: self.system,
            tools: self.tools,
            prompt,
            marks: if same { self.marks } else { Vec::new() },
            max_tokens: (max_output + thinking).min(room).max(MIN_OUTPUT + thinking),
            form: Arc::new(form),
        })
    }
}

/// Returns the name of a model without the suffix that clients use for a window of a million tokens. Providers do not
/// know this suffix.
fn plain_name(model: &str) -> &str {
    model.strip_suffix("[1m]").unwrap_or(model)
}

/// Returns the bytes that the client sends for each message.
fn own_messages(history: &History, sent: &SentRequest) -> BTreeMap<Seq, ClientMessage> {
    let own = history.entries().iter().filter_map(|entry| {
        let message = &entry.message;
        let raw = match sent.own.get(&message.seq) {
            Some(own) => own.clone(),
            None => as_sent(message)?,
        };
        let marks = sent.marks.iter().filter_map(|mark| match mark.origin {
            Origin::Stored { seq, block, .. } if seq == message.seq => Some((block, mark)),
            _ => None,
        });
        let json =
            marks.fold(raw, |raw, (block, mark)| with_mark(&raw, block, mark).unwrap_or(raw));
        Some((message.seq, ClientMessage { json, blocks: message.blocks.len() }))
    });
    own.collect()
}

/// Returns the message's bytes if it is stored as the client sent it. An answer is stored as the provider sent it, with more
/// members.
fn as_sent(message: &Message) -> Option<Bytes> {
    let members = json::members(std::str::from_utf8(message.raw()).ok()?)?;
    let plain = members.iter().all(|(name, _)| matches!(name.as_str(), "role" | "content"));
    plain.then(|| message.raw().clone())
}

/// Returns the message with a breakpoint at the end of one of its blocks, and all other bytes unchanged.
fn with_mark(message: &Bytes, block: u32, mark: &SentMark) -> Option<Bytes> {
    #[derive(Deserialize)]
    struct Content<'a> {
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    let text = std::str::from_utf8(message).ok()?;
    let blocks = serde_json::from_str::<Content<'_>>(text).ok()?.content;
    let marked = blocks.get(usize::try_from(block).ok()?)?.get();
    if json::members(marked)?.iter().any(|(name, _)| name == "cache_control") {
        return None;
    }
    let end = (marked.as_ptr() as usize - text.as_ptr() as usize) + marked.len();
    let (before, after) = (text.get(..end - 1)?, text.get(end..)?);
    Some(Bytes::from(format!(r#"{before},"cache_control":{}}}{after}"#, mark.control)))
}

/// Returns the breakpoints to place in the messages.
fn marks(prompt: &ValidPrompt, sent: &SentRequest, form: &ClientForm) -> Vec<CacheMark> {
    let own_messages = sent.frame.own_messages;
    let mut marks: Vec<CacheMark> = Vec::new();
    for (at, message) in prompt.messages().iter().enumerate() {
        let has_mark = |origin| sent.marks.iter().any(|mark| is_same(mark.origin, origin));
        let blocks = message.blocks.iter().enumerate();
        let mut marked: Vec<usize> =
            blocks.filter(|(_, block)| has_mark(block.origin)).map(|(block, _)| block).collect();
        // If the gateway changes a message, it moves the message's breakpoint to the end of the message.
        if own_messages && !marked.is_empty() {
            marked = markable(message).into_iter().collect();
        }
        marks.extend(marked.into_iter().map(|block| CacheMark { message: at, block }));
    }
    if own_messages {
        // The gateway places a breakpoint after the messages that it adds at the start, if one is left.
        let first = prompt.messages().iter();
        let leading = first.take_while(|message| form.own(message).is_none()).count();
        if let Some(message) = leading.checked_sub(1)
            && count_marks(&sent.frame) + sent.marks.len() < MAX_MARKS
            && let Some(block) = prompt.messages().get(message).and_then(markable)
        {
            marks.push(CacheMark { message, block });
        }
    }
    marks
}

/// Whether both are the same block, possibly shown in different ways.
fn is_same(mark: Origin, other: Origin) -> bool {
    match (mark, other) {
        (Origin::Stored { seq, block, .. }, Origin::Stored { seq: s, block: b, .. }) => {
            (seq, block) == (s, b)
        }
        (mark, other) => mark == other,
    }
}

fn markable(message: &PromptMessage) -> Option<usize> {
    message.blocks.iter().rposition(|block| !block.kind.is_thinking())
}

fn count_marks(frame: &SentFrame) -> usize {
    let parts = [&frame.system, &frame.tools].map(|json| String::from_utf8_lossy(json));
    parts.iter().map(|json| json.matches(r#""cache_control":"#).count()).sum()
}

/// Returns the number of thinking tokens that the parameters allow.
fn thinking_budget(parameters: &[u8]) -> u64 {
    #[derive(Default, Deserialize)]
    struct Parameters {
        #[serde(default)]
        thinking: Thinking,
    }
    #[derive(Default, Deserialize)]
    struct Thinking {
        #[serde(default)]
        budget_tokens: u64,
    }
    serde_json::from_slice::<Parameters>(parameters).unwrap_or_default().thinking.budget_tokens
}

/// Appends an instruction. If the last message is the user's, the instruction is added to it: roles must alternate, and
/// the bytes before it do not change.
fn append(messages: &mut Vec<PromptMessage>, instruction: &str) {
    let after = Seq(u64::MAX);
    match messages.last_mut() {
        Some(last) if last.role == Role::User => {
            last.blocks.push(PromptBlock::written(instruction, after, text_tokens(instruction)));
        }
        _ => messages.push(PromptMessage::said(instruction, after, text_tokens(instruction))),
    }
}

fn without_thinking(mut messages: Vec<PromptMessage>) -> Vec<PromptMessage> {
    for message in &mut messages {
        let only = message.blocks.iter().all(|block| block.kind.is_thinking());
        if only && let Some(first) = message.blocks.first() {
            let seq = first.origin.seq();
            message.blocks = vec![PromptBlock::written("(thinking)", seq, 3)];
        }
        message.blocks.retain(|block| !block.kind.is_thinking());
    }
    messages
}

/// Returns tool definitions that contain only the names of the tools that a prompt calls. Used if the client sent no
/// definitions, because providers require them.
fn used_tools(prompt: &ValidPrompt) -> Bytes {
    let blocks = prompt.messages().iter().flat_map(|message| &message.blocks);
    let names: BTreeSet<&str> = blocks
        .filter_map(|block| match &block.kind {
            BlockKind::ToolUse { name, .. } => Some(&**name),
            _ => None,
        })
        .collect();
    let tools: Vec<String> = names
        .into_iter()
        .map(|name| {
            let name = json::encode_string(name);
            format!(r#"{{"name":{name},"description":"","input_schema":{{"type":"object"}}}}"#)
        })
        .collect();
    Bytes::from(format!("[{}]", tools.join(",")))
}
