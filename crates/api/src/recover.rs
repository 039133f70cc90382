use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

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
    /// `collapse`, `compact`, `shrink_output`, `strip_media`, `strip_thinking`, `wait` or `none`.
    pub step: String,
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
