//! A session's own prompt as a prefix: the bytes of its last request, the messages since, and an instruction at the end.

use std::collections::BTreeSet;

use bethink_context::{SessionState, view};
use bethink_model::{ModelRequest, shrink};
use bethink_service::{Result, ServiceError};
use bethink_tokens::text_tokens;
use bethink_transcript::{
    BlockKind, CacheMark, PromptBlock, PromptMessage, Role, Seq, ValidPrompt, json,
};
use bytes::Bytes;

/// The parts of the session's last request that are not in its history.
#[derive(Clone, Debug)]
pub struct SentRequest {
    /// JSON with breakpoints.
    pub system: Bytes,
    pub tools: Bytes,
    /// The breakpoints of its messages. They do not move: a fork reads the cache that the session wrote, and does not
    /// write its own.
    pub marks: Vec<CacheMark>,
}

impl Default for SentRequest {
    fn default() -> Self {
        let none = Bytes::from_static(b"[]");
        Self { system: none.clone(), tools: none, marks: Vec::new() }
    }
}

impl SentRequest {
    pub fn weight(&self) -> usize {
        self.system.len() + self.tools.len()
    }
}

#[derive(Clone, Debug)]
pub struct SessionPrefix {
    own_model: String,
    /// The newest message in the prompt.
    pub through: Seq,
    pub tools: Bytes,
    system: Bytes,
    prompt: ValidPrompt,
    marks: Vec<CacheMark>,
    /// Tokens of the window that the prompt leaves free.
    room: u64,
}

/// Minimum size of an answer that is worth requesting, in tokens.
const MIN_OUTPUT: u64 = 1_024;

impl SessionPrefix {
    /// Makes the next prompt, except for breakpoints.
    pub(crate) fn new(state: &SessionState, sent: Option<&SentRequest>) -> Result<Self> {
        let shown = view(&state.history, &state.decisions, state.view_options());
        let prompt = ValidPrompt::check(shown.messages).map_err(|faults| {
            ServiceError::internal(format!("the view is not a valid prompt: {faults:?}"))
        })?;
        let sent = sent.cloned().unwrap_or_default();
        let tools = if sent.tools.as_ref() == b"[]" { used_tools(&prompt) } else { sent.tools };
        let used = prompt.tokens() + state.fixed.total();
        Ok(Self {
            own_model: state.model.name.clone(),
            through: state.last_seq,
            tools,
            system: sent.system,
            marks: sent.marks,
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
        let Self { system, tools, prompt, marks, .. } = self;
        ModelRequest { model, system, tools, prompt, marks, max_tokens: MIN_OUTPUT }
    }

    /// Makes a request to `model` with `instruction` at the end of the prompt.
    pub fn request(
        self,
        model: String,
        instruction: &str,
        max_output: u64,
    ) -> Result<ModelRequest> {
        let same = model == self.own_model;
        let mut messages = self.prompt.messages().to_vec();
        if !same {
            // Another model cannot read this model's thinking.
            messages = without_thinking(messages);
        }
        append(&mut messages, instruction);
        let prompt = ValidPrompt::check(messages).map_err(|faults| {
            ServiceError::internal(format!("the prompt of a fork is not valid: {faults:?}"))
        })?;
        let room = self.room.saturating_sub(u64::from(text_tokens(instruction)));
        Ok(ModelRequest {
            model,
            system: self.system,
            tools: self.tools,
            prompt,
            marks: if same { self.marks } else { Vec::new() },
            max_tokens: max_output.min(room).max(MIN_OUTPUT),
        })
    }
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

/// Returns definitions of the tools that a prompt calls, because providers require them. They have only names if no
/// client sent any definitions.
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
