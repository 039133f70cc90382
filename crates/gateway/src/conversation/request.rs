//! The types that the wire formats and the conversations exchange.

use std::sync::Arc;

use bethink_api::Inject;
use bethink_models::ClientModel;
use bethink_transcript::SessionId;
use bytes::Bytes;
use memchr::memmem;
use serde_json::value::RawValue;

use super::frame::RequestFrame;

/// A client's own session ID.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClientKey {
    /// The client's name, such as `claude-code`.
    pub(crate) entrance: String,
    /// The ID that the client uses for its session.
    pub(crate) key: String,
}

/// A parsed request, with messages in the format of the Messages API.
#[derive(Clone, Debug)]
pub(crate) struct GatewayRequest {
    /// `anthropic`, `openai` or `gemini`.
    pub(crate) entrance: &'static str,
    pub(crate) model: String,
    pub(crate) max_output: Option<u64>,
    /// The bethink session that the client asks for.
    pub(crate) session: Option<SessionId>,
    pub(crate) client: Option<ClientKey>,
    pub(crate) project_dir: Option<String>,
    /// The project to use if the prompt states no directory.
    pub(crate) default_project: Option<String>,
    /// Text of the system prompt, which is counted and searched for the working directory.
    pub(crate) system: Option<String>,
    /// The tools, as a JSON array.
    pub(crate) tools: Option<Box<RawValue>>,
    /// All messages in order, each `{role, content, …}`.
    pub(crate) messages: Vec<Bytes>,
    /// Size of the whole request, in bytes.
    pub(crate) body_bytes: usize,
    /// `None` for the default from the settings.
    pub(crate) inject: Option<Inject>,
    /// The parts that bethink's own calls repeat.
    pub(crate) frame: RequestFrame,
    /// The client's own model, if it is to write summaries.
    pub(crate) client_model: Option<ClientModel>,
    /// The leading instructions as JSON, if a later request may continue the answer by its ID.
    pub(crate) chain_heads: Option<Arc<[String]>>,
}

/// The conversation before a request that contains only the ID of the answer it continues.
#[derive(Clone, Debug)]
pub(crate) struct ChainedHistory {
    pub(crate) session: SessionId,
    /// The leading instructions as JSON, in the client's format.
    pub(crate) heads: Arc<[String]>,
    /// The messages, in the format of the Messages API.
    pub(crate) messages: Vec<Bytes>,
}

impl ChainedHistory {
    /// Returns the size of all messages and instructions, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let heads: usize = self.heads.iter().map(String::len).sum();
        heads + self.messages.iter().map(Bytes::len).sum::<usize>()
    }
}

impl GatewayRequest {
    /// Returns whether this is an agent's request for a session title, which the agent sends before the session's first
    /// message. Such a request is not part of any conversation.
    pub(crate) fn asks_for_title(&self) -> bool {
        const ASKS: &[u8] = b"\"Generate a title for this conversation:";
        let has_tools = self.tools.as_ref().is_some_and(|tools| tools.get() != "[]");
        let is_about_titles = self.system.as_ref().is_some_and(|system| system.contains("title"));
        let mut first = self.messages.iter().take(2);
        !has_tools && is_about_titles && first.any(|message| memmem::find(message, ASKS).is_some())
    }
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptPart {
    /// The client's message with this index, unchanged.
    Client(usize),
    /// A message that differs from the client's.
    Written(WrittenMessage),
}

#[cfg(test)]
impl PromptPart {
    pub(crate) fn written(json: impl Into<Bytes>) -> Self {
        Self::Written(WrittenMessage { json: json.into(), is_user: true, blocks: Vec::new() })
    }
}

/// A message that bethink wrote. It may contain blocks of the client's messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenMessage {
    /// `{role, content}`.
    pub(crate) json: Bytes,
    pub(crate) is_user: bool,
    pub(crate) blocks: Vec<WrittenBlock>,
}

/// A block of a message, and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenBlock {
    pub(crate) json: Bytes,
    /// The client's block that this block shows; `None` for text that bethink wrote.
    pub(crate) source: Option<BlockSource>,
}

/// A block of one of the client's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockSource {
    /// Index of the client's message.
    pub(crate) message: usize,
    /// Index of the block in that message.
    pub(crate) block: usize,
    /// Whether the block is shown unchanged.
    pub(crate) is_whole: bool,
}

/// The prompt to send to the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UpstreamPrompt {
    /// The client's own request.
    Unchanged,
    /// These messages, and text to append to the client's system prompt.
    Changed { system_added: Option<String>, messages: Vec<PromptPart> },
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerOutcome {
    /// The answer is complete.
    Whole,
    /// The answer was cut off, or could not be read.
    Broken,
    /// The client disconnected.
    Cancelled,
}

/// An answer, or the received part of one.
#[derive(Clone, Debug)]
pub(crate) struct ProviderResponse {
    /// `{id, role, model, content, usage, stop_reason}`.
    pub(crate) message: Option<Bytes>,
    pub(crate) outcome: AnswerOutcome,
}
