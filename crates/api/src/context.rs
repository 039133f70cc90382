use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use crate::compaction::CompactionLevel;

/// The names of the parts of a system prompt, in the order of the prompt.
pub const SYSTEM_PARTS: [&str; 11] = [
    "attribution",
    "client_prefix",
    "introduction",
    "system",
    "doing_tasks",
    "tools",
    "project_context",
    "output_style",
    "language",
    "mcp_instructions",
    "appended",
];

/// One part of the system prompt. The daemon puts the parts in order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SystemPart {
    #[schema(schema_with = part_name)]
    pub part: String,
    pub text: String,
}

fn part_name() -> Object {
    let name = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(SYSTEM_PARTS));
    name.description(Some("Name of the part.")).build()
}

/// What bethink adds to a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inject {
    /// Instruction files, the memory index and recalled memories.
    #[default]
    Full,
    /// Only recalled memories.
    Recall,
    Off,
}

/// Whether the session may be compacted in order to build the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptCompaction {
    /// As the settings specify.
    Auto,
    Never,
}

/// What to put into a prompt besides the history.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ContextRequest {
    /// Your own system prompt, in parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Vec<SystemPart>>,
    /// Tool definitions, passed through byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    pub tools: Option<Box<RawValue>>,
    /// The other members of the request that you send to the model, such as `thinking` and `temperature`; beta features as
    /// `betas`. bethink repeats them in its own calls for this session, because the provider's cache depends on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub parameters: Option<Box<RawValue>>,
    /// The question to recall memories for; by default the newest user message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Names of tools used recently. Memories that only explain these tools are not recalled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent_tools: Option<Vec<String>>,
    /// Files that the agent has read or changed. The instruction files for them are loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched_paths: Option<Vec<String>>,
    /// What bethink adds to the prompt; `full` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject: Option<Inject>,
    /// `auto` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact: Option<PromptCompaction>,
}

/// How full the context window is.
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

/// Token limits that follow from the size of the context window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Thresholds {
    /// Size of the whole window.
    pub window: u64,
    /// Size of the window without the part that is reserved for output.
    pub effective: u64,
    /// When the prompt reaches this size, the level becomes `warning`.
    pub warning: u64,
    /// When the prompt reaches this size, the session is compacted automatically, if that is turned on.
    pub auto: u64,
    /// When the prompt reaches this size, no prompt is returned without a compaction.
    pub blocking: u64,
}

/// Number of tokens in the prompt, by part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PartTokens {
    /// The system prompt.
    pub system: u64,
    /// Instruction files.
    pub instructions: u64,
    /// The memory index and recalled memories.
    pub memory: u64,
    /// Tool definitions.
    pub tools: u64,
    /// The summary of a compaction.
    pub summary: u64,
    /// Messages shown from the history.
    pub tail: u64,
    /// Reminders and other texts that bethink added between messages.
    pub attachments: u64,
}

/// A stage that shortens the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptStage {
    /// Shows large tool results only in part.
    ToolResultBudget,
    /// Leaves out tool results that a later event made worthless.
    Snip,
    /// Clears old tool results when the provider's cache has expired.
    Microcompact,
    /// Shows old spans of messages as short texts.
    Collapse,
    /// Replaces the older part with a summary.
    Compaction,
}

/// What one stage did to shorten the prompt.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StageReport {
    pub stage: PromptStage,
    /// Number of tokens before the stage.
    pub tokens_before: u64,
    /// Number of tokens after the stage.
    pub tokens_after: u64,
    /// What the stage changed: `tool_use` IDs, message positions or names.
    pub touched: Vec<String>,
    /// Why the stage changed this.
    pub why: String,
}

/// The newest compaction of a session, in brief.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LastCompaction {
    pub id: String,
    pub level: CompactionLevel,
    pub fidelity: f64,
    /// Why the fidelity is low or has fallen, or which names were missing after the previous compaction; absent if nothing is
    /// wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    pub at: String,
}

/// Accuracy of the token estimate in this session, compared with the usage that the provider reported.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct TokenEstimate {
    /// Number of tokens that the provider reported.
    pub reported: u64,
    /// Learned factor applied to the estimate; 1 until usage is reported.
    pub scale: f64,
    /// Number of turns that the factor was learned from.
    pub turns: u64,
    /// Mean relative error of the prompt's estimated growth per turn, over the most recent turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

/// How well the provider's prompt cache works, according to the usage reported since the daemon loaded the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CacheReport {
    /// Number of prompts for which much of the cached prefix was not read from the cache, except right after a compaction.
    pub breaks: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<CacheFall>,
}

/// Why a prompt does not begin with the previous one, or why the provider's cache did not contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptChange {
    /// The client changed the system prompt.
    System,
    /// The client changed the tools.
    Tools,
    /// The session's model changed.
    Model,
    /// A compaction was made or undone.
    Compaction,
    Collapse,
    Microcompact,
    Snip,
    /// Parts of an earlier message arrived late.
    History,
    /// The session was idle for longer than the cache lasts.
    Idle,
    #[serde(other)]
    Unknown,
}

/// A prompt for which much less was read from the cache than the cache contained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CacheFall {
    pub cause: PromptChange,
    /// Number of tokens that the previous prompt read from the cache or wrote to it.
    pub read_before: u64,
    /// Number of tokens that this prompt read from the cache.
    pub read_now: u64,
    pub at: String,
    /// Whether a compaction explains the drop.
    pub expected: bool,
}

/// Where a token count comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum TokenSource {
    /// The provider's last count, plus an estimate of what came after it.
    #[serde(rename = "reported+estimate")]
    Reported,
    #[default]
    #[serde(rename = "estimate")]
    Estimate,
}

/// What fills the context window. Measured on the prompt that would be sent, not on the history.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ContextReport {
    /// Number of tokens in the whole prompt.
    pub tokens: u64,
    pub parts: PartTokens,
    pub thresholds: Thresholds,
    /// Number of tokens left until a compaction is due.
    pub remaining: u64,
    /// Size of the prompt as a percentage of the effective window.
    pub percent: f64,
    /// Number of messages in the prompt.
    pub messages: u64,
    pub level: FillLevel,
    /// What shortened the prompt, in order.
    pub stages: Vec<StageReport>,
    /// Index of the first message that differs from the previous prompt; absent if this prompt begins with the whole
    /// previous one.
    pub first_changed: Option<u64>,
    /// Index of the first message that no longer appears as it was first shown; absent if there is none. Thinking blocks after
    /// that message were written for another prompt, unless they are newer than the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_edited: Option<u64>,
    /// Why this prompt diverges from the previous one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<PromptChange>,
    /// Share of the prompt's tokens that are in its unchanged beginning, from 0 to 1.
    pub predicted_cache_hit: f64,
    #[serde(default)]
    pub cache: CacheReport,
    pub tokens_from: TokenSource,
    /// Accuracy of the estimated part of `tokens`.
    #[serde(default)]
    pub estimate: TokenEstimate,
    /// Descriptions of what was repaired to make the prompt valid.
    pub repairs: Vec<String>,
    pub last_compaction: Option<LastCompaction>,
    /// ID of the compaction that was made for this prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<String>,
    /// What a person should know, such as an open breaker or several todos in progress.
    pub notices: Vec<String>,
}

/// The provider's own token count of the prompt.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PromptCount {
    /// The provider's count.
    pub tokens: u64,
    /// bethink's estimate.
    pub estimated: u64,
    pub model: String,
}

/// How prompts differ from the history, oldest decision first, without compactions and collapsed spans, which have
/// their own routes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DecisionList {
    pub decisions: Vec<DecidedView>,
}

/// A kind of decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// Text was added after a message.
    Attached,
    /// An instruction file was added after a message.
    Instructed,
    /// A large tool result is shown only in part.
    Replaced,
    /// Old tool results are not shown.
    Cleared,
    /// Tool results that a later event made worthless are not shown.
    Snipped,
    /// Blocks that the provider rejected are not shown.
    Stripped,
}

/// One way in which prompts differ from the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecidedView {
    pub kind: DecisionKind,
    /// The message that the attached text follows. If no text was attached, the newest message at the time of the decision.
    pub after_seq: u64,
    /// What the attached text is: `memory`, `todos`, `file`, `plan`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of tokens in the attached text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The messages that are shown differently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seqs: Vec<u64>,
    pub at: String,
}

/// The provider's response when it rejected the session's last prompt.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RecoverRequest {
    /// HTTP status; absent for an error inside a stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The body of the response, as JSON or as a string.
    pub error: Value,
    /// The `max_tokens` of the rejected call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The `retry-after` header of the response, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<f64>,
    /// Number of attempts with this prompt, including this one. By default, the daemon counts the reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Whether part of the answer was already shown, so that the call must not be repeated silently.
    #[serde(default, skip_serializing_if = "is_false")]
    pub heard: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The kind of failure of a model call. Every error has exactly one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The prompt is longer than the window.
    Overflow,
    /// Prompt and `max_tokens` together are longer than the window.
    OutputOverflow,
    /// An image or a document is too large or unreadable, there are too many of them, or the model accepts none.
    MediaTooLarge,
    /// The request has too many bytes.
    RequestTooLarge,
    /// A thinking block belongs to another conversation, or was changed.
    ThinkingBound,
    /// Tool calls and results do not match.
    History,
    RateLimited,
    Overloaded,
    /// An internal error of the provider.
    Server,
    /// The key is missing, wrong, or not allowed to do this.
    Auth,
    /// The account has no credit or quota left.
    Quota,
    /// The model or the route does not exist.
    NotFound,
    /// The provider rejects the request for another reason.
    Invalid,
    /// No connection could be made.
    Unreachable,
    /// No data arrived for too long.
    TimedOut,
    /// The answer was cut off or is malformed.
    Broken,
    /// The answer, or one of its events, is larger than the limit.
    TooMuch,
    /// The request is not allowed because of its address, the budget or the breaker, or its answer was a redirect, which is
    /// not followed.
    Forbidden,
    /// None of these; never retried.
    #[default]
    #[serde(other)]
    Unknown,
}

impl ErrorClass {
    pub const ALL: [Self; 19] = [
        Self::Overflow,
        Self::OutputOverflow,
        Self::MediaTooLarge,
        Self::RequestTooLarge,
        Self::ThinkingBound,
        Self::History,
        Self::RateLimited,
        Self::Overloaded,
        Self::Server,
        Self::Auth,
        Self::Quota,
        Self::NotFound,
        Self::Invalid,
        Self::Unreachable,
        Self::TimedOut,
        Self::Broken,
        Self::TooMuch,
        Self::Forbidden,
        Self::Unknown,
    ];
}

/// What the error was, what was done about it, and whether to try again.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Recovered {
    pub class: ErrorClass,
    /// Number of input tokens that the error stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Number of output tokens that the error stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// The limit that the error stated, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    pub step: RecoveryStep,
    /// A human-readable explanation.
    pub detail: String,
    /// Whether to request the prompt again and send it. The new prompt is the same as the rejected one if `step` is `wait`,
    /// or if it is `shrink_output`, which only changes `max_tokens`.
    pub retry: bool,
    /// How long to wait before the next call, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// The `max_tokens` for the next call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// ID of the compaction that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<String>,
}

/// What was done about a provider error.
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
