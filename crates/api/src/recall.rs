use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// `POST /v1/recall`: which memories help with something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallRequest {
    pub project_dir: String,
    /// What somebody said or wants to do, in any words.
    pub query: String,
    /// What this session has been told since its last compaction is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
    /// How to use these tools need not be told. Taken from the session where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent_tools: Option<Vec<String>>,
    /// At most so many; 5 are the most there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Memories that help, the best first; none where nothing fits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecallAnswer {
    pub memories: Vec<RecalledMemory>,
    /// Topics that were looked at.
    pub searched: u64,
    /// `model` or `embedded`: who chose.
    pub strategy: String,
}

/// One of them, as a prompt gets it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecalledMemory {
    /// `private` or `team`.
    pub scope: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `user`, `feedback`, `project` or `reference`; absent where the file names none.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// In words.
    pub age: String,
    /// When the file was last written.
    pub modified: String,
    /// 0 to 1, the same in every directory.
    pub score: f64,
    /// Its body, 200 lines and 4,096 bytes at most.
    pub content: String,
    pub truncated: bool,
    /// Where all of it is.
    pub path: String,
    pub why: RecallWhy,
}

/// What a memory was chosen by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecallWhy {
    /// `model` or `embedded`.
    pub by: String,
    /// Words of the query, as the index has them, that the topic holds; the most telling first.
    pub terms: Vec<RecallTerm>,
    /// Of the words alone.
    pub score: f64,
    /// Its place among what a model chose, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
}

/// A word, and the parts of the topic that hold it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallTerm {
    pub term: String,
    /// `name`, `description`, `heading`, `identifier`, `body`.
    pub fields: Vec<String>,
}
