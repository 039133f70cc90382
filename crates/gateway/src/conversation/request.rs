//! The types that the wire formats and the conversations exchange.

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
#[derive(Debug)]
pub(crate) struct GatewayRequest {
    /// `anthropic` or `openai`.
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
    /// JSON array of tools.
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
}

impl GatewayRequest {
    /// Returns whether an agent asks for a title of its session before it sends the session itself. Such a request is not
    /// part of any conversation.
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
    /// A message by bethink: `{role, content}`.
    Written(Bytes),
}

/// The prompt to send to the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UpstreamPrompt {
    /// The client's own request.
    Unchanged,
    /// These messages, and a text to append to the client's system prompt.
    Changed { system_added: Option<String>, messages: Vec<PromptPart> },
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerOutcome {
    /// It is complete.
    Whole,
    /// It was cut off, or could not be read.
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
