use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

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
