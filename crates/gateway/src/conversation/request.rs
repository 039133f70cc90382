//! What the wires and the conversations say to each other.

use bethink_api::Inject;
use bethink_transcript::SessionId;
use bytes::Bytes;
use serde_json::value::RawValue;

/// What a client says of itself when it names its own session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClientKey {
    /// The client's name, such as `claude-code`.
    pub(crate) entrance: String,
    /// The client's own id of its session.
    pub(crate) key: String,
}

/// A request as a wire has read it. Messages are in our vocabulary, the Messages API's blocks.
#[derive(Debug)]
pub(crate) struct GatewayRequest {
    /// `anthropic` or `openai`.
    pub(crate) entrance: &'static str,
    pub(crate) model: String,
    pub(crate) max_output: Option<u64>,
    /// A bethink session that the client names.
    pub(crate) session: Option<SessionId>,
    pub(crate) client: Option<ClientKey>,
    pub(crate) project_dir: Option<String>,
    /// The system prompt's text: to be counted, and to find the working directory in.
    pub(crate) system: Option<String>,
    /// The array of tools.
    pub(crate) tools: Option<Box<RawValue>>,
    /// Each `{role, content, …}`, consecutive and in order.
    pub(crate) messages: Vec<Bytes>,
    /// Bytes of the whole request.
    pub(crate) body_bytes: usize,
    /// None: as the settings have it.
    pub(crate) inject: Option<Inject>,
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptPart {
    /// The client's message of this index, exactly as it was given.
    Client(usize),
    /// `{role, content}`.
    Written(Bytes),
}

/// What goes up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UpstreamPrompt {
    /// The client's own request.
    Unchanged,
    /// These messages, and a text behind the client's own system prompt.
    Changed { system_added: Option<String>, messages: Vec<PromptPart> },
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerOutcome {
    /// The provider said how it ended.
    Whole,
    /// It broke off, or could not be read.
    Broken,
    /// The client went away.
    Cancelled,
}

/// An answer, as far as it came.
#[derive(Clone, Debug)]
pub(crate) struct ProviderResponse {
    /// `{id, role, model, content, usage, stop_reason}`.
    pub(crate) message: Option<Bytes>,
    pub(crate) outcome: AnswerOutcome,
}
