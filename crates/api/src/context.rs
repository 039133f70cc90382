use serde::{Deserialize, Serialize};
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
    /// What bethink adds to the prompt: `full` (default: instruction files, the memory's index and recalled
    /// memories), `recall` (recalled memories alone) or `off`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject: Option<String>,
    /// `auto` (default) or `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact: Option<String>,
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

/// What fills the window: measured on the prompt that would be sent, never on raw history.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ContextReport {
    pub tokens: u64,
    pub parts: PartTokens,
    pub thresholds: Thresholds,
    /// Tokens before a compaction is due.
    pub remaining: u64,
    /// Tokens over the effective window, in percent.
    pub percent: f64,
    pub messages: u64,
    pub level: String,
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
    /// `reported+estimate` or `estimate`.
    pub tokens_from: String,
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
