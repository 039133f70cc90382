use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// `GET /v1/model`: which model bethink asks for its own purposes, and whether it can be asked. Never a key, nor
/// anything made from one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ModelState {
    /// `none`, `anthropic` or `openai`.
    pub provider: String,
    pub state: ModelReadiness,
    /// The state in words, where there is more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Absent where each session's own model is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For notes, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_name: Option<String>,
    /// Scheme, host and port that the key and conversations go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    pub summary: Strategy,
    pub notes: Strategy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ModelKey>,
    pub problems: Vec<ModelProblem>,
}

/// Whether the model can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelReadiness {
    #[default]
    Off,
    Ready,
    NoKey,
    /// After failures.
    Resting,
    /// For the day.
    Spent,
    Broken,
}

/// Who does what a model can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    #[default]
    Embedded,
    Model,
}

/// Where the key comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelKey {
    /// The name of the environment variable, `command`, or `none`: the server gets no key.
    pub from: String,
    /// Whether the variable is set; unknown of a command, which is run when a key is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<bool>,
}

/// What is wrong with the configuration, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelProblem {
    pub found: String,
    pub todo: String,
}

/// `GET /v1/usage`: what models were asked for bethink's own purposes, and what it cost. Calls of deleted sessions
/// stay.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// One for each purpose and model (with `by=session`, or of a session, for each session too), those with the
    /// newest call first.
    pub rows: Vec<UsageRow>,
    /// There are more rows than are shown; the totals count them all.
    pub more: bool,
    pub totals: UsageSums,
    pub today: UsageToday,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UsageRow {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
    /// `summary`, `notes`, `collapse`, …
    pub purpose: String,
    pub model: String,
    /// When the newest call began.
    pub last_at: String,
    #[serde(flatten)]
    pub sums: UsageSums,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UsageSums {
    pub calls: u64,
    pub failed: u64,
    /// Tokens that no cache held.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// Of the calls that have a price; absent where none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Calls that used tokens of a model without a known price.
    pub unpriced: u64,
}

/// The running day, UTC, over all sessions and purposes, and its limits where there are some.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UsageToday {
    pub day: String,
    pub calls: u64,
    /// Read and written, cached or not.
    pub tokens: u64,
    pub cost_usd: f64,
    pub unpriced: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_cost_usd: Option<f64>,
}

/// Which calls of models to sum up.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct UsageQuery {
    /// Of this session only
    #[serde(default, deserialize_with = "crate::query::given")]
    pub session: Option<Uuid>,
    /// From this time on: RFC 3339, or a day
    pub since: Option<String>,
    /// `session`: the sums of each session apart
    #[param(inline)]
    pub by: Option<UsageBy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageBy {
    Session,
}
