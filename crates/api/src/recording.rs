use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A time during which nothing is recorded or learned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordingPause {
    /// When it began, as RFC 3339.
    pub since: String,
    /// When it ends, as RFC 3339; absent if the pause lasts until somebody ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// What is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordingStatus {
    /// The current pause, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<RecordingPause>,
    /// Projects and transcripts below these paths are never recorded.
    pub exclude: Vec<String>,
}

/// How long to pause.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PauseRequest {
    /// At most 30 days; if absent, until somebody ends the pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}
