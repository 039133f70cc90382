use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// One part of the system prompt; the daemon puts parts in their order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SystemPart {
    /// `attribution`, `client_prefix`, `introduction`, `system`, `doing_tasks`, `tools`,
    /// `project_context`, `output_style`, `language`, `mcp_instructions` or `appended`.
    pub part: String,
    pub text: String,
}

/// How much of bethink's own goes into a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inject {
    /// Instruction files, the memory's index and recalled memories.
    #[default]
    Full,
    /// Recalled memories alone.
    Recall,
    Off,
}

/// Whether a prompt may compact the session first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptCompaction {
    /// As the settings say.
    Auto,
    Never,
}

/// `POST /v1/sessions/{id}/context`.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ContextRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Vec<SystemPart>>,
    /// Tool definitions, handed through byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    pub tools: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent_tools: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched_paths: Option<Vec<String>>,
    /// What bethink adds to the prompt; `full` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject: Option<Inject>,
    /// `auto` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact: Option<PromptCompaction>,
}

/// How full the window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FillLevel {
    #[default]
    Comfortable,
    Degrading,
    Warning,
    Auto,
    Blocking,
}

/// All from one function of the window; see the specification, section 3.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Thresholds {
    pub window: u64,
    pub effective: u64,
    pub warning: u64,
    pub auto: u64,
    pub blocking: u64,
}

/// Tokens of the transformed prompt, by part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PartTokens {
    pub system: u64,
    pub instructions: u64,
    pub memory: u64,
    pub tools: u64,
    pub summary: u64,
    pub tail: u64,
    pub attachments: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StageReport {
    pub stage: String,
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// What it touched: tool_use ids, seqs or names.
    pub touched: Vec<String>,
    pub why: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LastCompaction {
    pub id: String,
    pub level: String,
    pub fidelity: f64,
    /// Fidelity is low or has fallen, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    pub at: String,
}

/// What is known of the estimate of tokens in this session, from usage that the provider reported.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct TokenEstimate {
    /// Tokens that are the provider's own figure.
    pub reported: u64,
    /// What the estimate was multiplied by, as learnt; 1 before anything was reported.
    pub scale: f64,
    /// Turns that it was learnt from.
    pub turns: u64,
    /// Mean error of a turn's growth over the last turns, as a share of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

/// The provider's prompt cache, as its figures tell of it since the session was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CacheReport {
    /// Prompts whose cached prefix was not read again, without a compaction that explains it.
    pub breaks: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<CacheFall>,
}

/// Much less was read from the cache than was in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CacheFall {
    /// `system`, `tools`, `model`, `idle`, `unknown`, `compaction`, or what changed the prompt:
    /// `microcompact`, `snip`, `collapse`, `history`.
    pub cause: String,
    /// Tokens that were read from the cache or written to it before.
    pub read_before: u64,
    /// Tokens that were read from it now.
    pub read_now: u64,
    pub at: String,
    /// As it should be, after a compaction.
    pub expected: bool,
}

/// Where a count of tokens came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum TokenSource {
    /// The provider's last figure, and an estimate of what came after it.
    #[serde(rename = "reported+estimate")]
    Reported,
    #[default]
    #[serde(rename = "estimate")]
    Estimate,
}

/// What fills the window: measured on the prompt that would be sent, never on raw history.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ContextReport {
    pub tokens: u64,
    pub parts: PartTokens,
    pub thresholds: Thresholds,
    /// Tokens before a compaction is due.
    pub remaining: u64,
    /// Tokens over the effective window, in percent.
    pub percent: f64,
    pub messages: u64,
    pub level: FillLevel,
    pub stages: Vec<StageReport>,
    /// Index of the first prompt message that differs from the prompt before; absent when the old
    /// prompt is a prefix of this one.
    pub first_changed: Option<u64>,
    /// Index of the first prompt message that does not stand as it was first shown: thinking from there
    /// to the edit was thought over another prompt. Absent when nothing was edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_edited: Option<u64>,
    /// Why the prefix parted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<String>,
    /// Tokens of the stable prefix over all tokens.
    pub predicted_cache_hit: f64,
    #[serde(default)]
    pub cache: CacheReport,
    pub tokens_from: TokenSource,
    /// How good the estimated share of `tokens` is.
    #[serde(default)]
    pub estimate: TokenEstimate,
    /// What the structural repair did to the view, in words.
    pub repairs: Vec<String>,
    pub last_compaction: Option<LastCompaction>,
    /// The compaction that this call made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<String>,
    /// What a person should know: a breaker that opened, todos with several items in progress, …
    pub notices: Vec<String>,
}

/// `GET …/context/count`: the prompt as the provider counts it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PromptCount {
    pub tokens: u64,
    /// What bethink takes it for.
    pub estimated: u64,
    pub model: String,
}

/// `GET /v1/sessions/{id}/decisions`: what makes prompts differ from the history, oldest first. Compactions and
/// collapsed spans have routes of their own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DecisionList {
    pub decisions: Vec<DecidedView>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecidedView {
    /// `attached` or `instructed`: a text stands after a message. `replaced`, `cleared` or `snipped`: results are
    /// shown shorter or not at all. `stripped`: blocks that the provider would not take.
    pub kind: String,
    /// The message that an attached text stands after; else the newest one when it was decided.
    pub after_seq: u64,
    /// Of an attached text: `memory`, `todos`, `file`, `plan`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Of an attached text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The messages that are shown otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seqs: Vec<u64>,
    pub at: String,
}

/// `POST /v1/sessions/{id}/recover`: what the provider said when it refused the session's last prompt.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RecoverRequest {
    /// HTTP status; absent for an error within a stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's body: its JSON, or its text as a string.
    pub error: Value,
    /// The `max_tokens` of the refused call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The `retry-after` of the answer, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<f64>,
    /// Tries of this prompt so far, this one included. Where it is absent, the daemon counts what it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Some of the answer was shown already, so that it must not be asked for again unseen.
    #[serde(default, skip_serializing_if = "is_false")]
    pub heard: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// What the error was, what was done about it, and whether to ask again.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Recovered {
    /// `overflow`, `output_overflow`, `media_too_large`, `request_too_large`, `thinking_bound`, `history`,
    /// `rate_limited`, `overloaded`, `server`, `auth`, `quota`, `not_found`, `invalid`, …, `unknown`.
    pub class: String,
    /// Figures that the error named, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    pub step: RecoveryStep,
    /// In words, for a person.
    pub detail: String,
    /// Ask for the context again and send it. The prompt is another one unless `step` is `wait`, or
    /// `shrink_output`, which changes `max_tokens` alone.
    pub retry: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// For the next call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The compaction that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<String>,
}

/// What was done about an error of the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryStep {
    Collapse,
    Compact,
    ShrinkOutput,
    StripMedia,
    StripThinking,
    Wait,
    #[default]
    None,
}
