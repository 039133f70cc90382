use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/model`: which model bethink asks for its own purposes, and whether it can be asked. Never a key, nor
/// anything made from one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ModelState {
    /// `none`, `anthropic` or `openai`.
    pub provider: String,
    /// `off`, `ready`, `no_key`, `resting` after failures, `spent` for the day, or `broken`.
    pub state: String,
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
    /// `model` or `embedded`.
    pub summary: String,
    pub notes: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ModelKey>,
    pub problems: Vec<ModelProblem>,
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
