use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// Which model bethink calls for its own purposes, and whether it can be called. Never contains a key or anything
/// derived from one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ModelState {
    pub provider: ModelProvider,
    pub state: ModelReadiness,
    /// Details of the state, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Name of the model; absent if each session's own model is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the model for notes and recall, if it is a different one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_name: Option<String>,
    /// Scheme, host and port to which the key and conversations are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    pub summary: Strategy,
    pub notes: Strategy,
    /// Whether summaries of sessions through the gateway are written by the client's own model, with the client's key.
    #[serde(default)]
    pub client_summaries: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ModelKey>,
    pub problems: Vec<ModelProblem>,
}

/// Whose API is used to call the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelProvider {
    /// No model is called.
    #[default]
    None,
    Anthropic,
    Openai,
}

/// Whether the model can be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelReadiness {
    #[default]
    Off,
    Ready,
    NoKey,
    /// Paused after failures.
    Resting,
    /// The day's budget is spent.
    Spent,
    Broken,
}

/// Whether a model or the built-in algorithm does the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    #[default]
    Embedded,
    Model,
}

/// What bethink calls a model for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Summary,
    Notes,
    /// Choose memories that are relevant to the user's message.
    Recall,
    /// Find what is worth remembering in a conversation.
    Extraction,
    /// Consolidate a project's memory.
    Dream,
}

/// Where the key comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelKey {
    /// Name of an environment variable, `command`, or `none` if no key is sent.
    pub from: String,
    /// Whether the variable is set; absent for a command, which is only run when a key is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<bool>,
}

/// What is wrong with the configuration, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelProblem {
    /// What is wrong.
    pub found: String,
    /// What to do about it.
    pub todo: String,
}

/// bethink's own model calls and what they cost. Calls of deleted sessions are included.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// One row for each purpose and model, newest call first. With `by=session`, or for one session, rows are also split by
    /// session.
    pub rows: Vec<UsageRow>,
    /// There are more rows than were returned. The totals include all rows.
    pub more: bool,
    pub totals: UsageSums,
    pub today: UsageToday,
}

/// Calls of one model for one purpose.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UsageRow {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
    /// `summary`, `notes`, `recall`, `extraction` or `dream`. Calls by other versions may have another purpose.
    pub purpose: String,
    pub model: String,
    /// When the newest call began, as RFC 3339.
    pub last_at: String,
    #[serde(flatten)]
    pub sums: UsageSums,
}

/// Number and cost of calls.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UsageSums {
    /// Number of calls.
    pub calls: u64,
    /// Number of calls that failed.
    pub failed: u64,
    /// Number of input tokens that were not in a cache.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Number of tokens read from a cache.
    pub cache_read_tokens: u64,
    /// Number of tokens written to a cache.
    pub cache_write_tokens: u64,
    /// Cost of the calls whose model has a known price; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Number of calls to models without a known price.
    pub unpriced: u64,
}

/// Usage on the current day (UTC), over all sessions and purposes, with the daily limits if there are any.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UsageToday {
    /// The date, such as `2026-01-31`.
    pub day: String,
    pub calls: u64,
    /// Number of input and output tokens, cached or not.
    pub tokens: u64,
    /// Cost so far.
    pub cost_usd: f64,
    pub unpriced: u64,
    /// The daily token limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_tokens: Option<u64>,
    /// The daily cost limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_cost_usd: Option<f64>,
}

/// Which model calls to sum up.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct UsageQuery {
    /// Only calls for this session
    #[serde(default, deserialize_with = "crate::query::given")]
    pub session: Option<Uuid>,
    /// Only calls from this time on: RFC 3339 or a date
    pub since: Option<String>,
    /// `session`: split the rows by session
    #[param(inline)]
    pub by: Option<UsageBy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageBy {
    Session,
}
