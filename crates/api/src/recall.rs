//! Recall: which memories fit a question, and how well a project's topics are found.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::memory::{MemoryKind, MemoryRecall, MemoryScope};
use crate::model::Strategy;

/// The question to recall memories for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallRequest {
    pub project_dir: String,
    /// What the user said or wants to do, in any words.
    #[serde(default)]
    pub query: String,
    /// Up to 7 other wordings of the question. Memories that fit any of them are returned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<String>,
    /// How strict to be. By default, `asked`.
    #[serde(default)]
    pub manner: RecallManner,
    /// Memories that this session has received since its last compaction are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
    /// Names of tools used recently. Memories that only explain these tools are left out. By default, the tools that the
    /// session used recently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent_tools: Option<Vec<String>>,
    /// Maximum number of memories, up to 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Answer as if these topics had been written or deleted; nothing is stored. At most 20 changes, with 1 MiB of text in
    /// total. Changed topics match only by their words, not by their meaning, and no model is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<RecallChange>,
}

/// A change of one topic that is tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallChange {
    pub scope: MemoryScope,
    /// The file name in the memory directory, without `.md`. The topic need not exist.
    pub name: String,
    /// The whole text of the topic's file; `null` if the topic is deleted.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true)]
    pub text: Option<String>,
}

/// What a recall is for. This decides whether memories that may not fit are returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecallManner {
    /// Somebody asked a question: the best matches are returned, and those that may not fit are marked `perhaps`.
    #[default]
    Asked,
    /// The answer is added to a prompt automatically: memories that may not fit are left out, and so are suppressed ones.
    /// Pinned memories are part of the answer only if they fit.
    Injected,
}

/// Whether a memory fits the question.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RecallCertainty {
    #[default]
    Sure,
    Perhaps,
}

/// The memories that fit a question, or may fit it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecallAnswer {
    /// Best first.
    pub memories: Vec<RecalledMemory>,
    /// Number of topics that were searched.
    pub searched: u64,
    /// How the memories were chosen.
    pub strategy: Strategy,
    /// Why the choice of the model that was asked could not be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_failure: Option<String>,
}

/// A memory as it is added to a prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecalledMemory {
    pub scope: MemoryScope,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Absent if the file does not specify one.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// What the memory's front matter says about prompts: absent if it is added where it is relevant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall: Option<MemoryRecall>,
    /// The memory's age, in words.
    pub age: String,
    /// When the memory last changed, as RFC 3339: the time in its front matter, or else that of its file.
    pub modified: String,
    /// Whether the memory fits the question. Memories that certainly fit come first.
    pub certainty: RecallCertainty,
    /// Relevance from 0 to 1, comparable across directories.
    pub score: f64,
    /// The memory's text, at most 200 lines and 4,096 bytes.
    pub content: String,
    /// The text was cut.
    pub truncated: bool,
    /// Other versions of the topic, which people have not merged yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// Topics that the memory links to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkedTopic>,
    /// Path of the whole file.
    pub path: String,
    /// The branch on which the memory was learned, if the checkout of `project_dir` does not contain that branch. Such
    /// memories come last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmerged: Option<String>,
    pub why: RecallWhy,
}

/// A topic that a recalled topic links to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkedTopic {
    pub name: String,
    pub description: String,
}

/// The project whose recall to check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallCheckRequest {
    pub project_dir: String,
}

/// The result of a recall check: how well topics are found by their own words, and which past prompts would get
/// memories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallCheck {
    /// Number of topics.
    pub topics: u64,
    /// Number of questions asked: each topic's description, and up to 3 lines that it quotes.
    pub questions: u64,
    /// Number of questions that found their topic.
    pub found: u64,
    /// Number of past prompts that were replayed.
    pub prompts: u64,
    /// Number of past prompts that would get memories.
    pub given: u64,
    pub problems: Vec<RecallProblem>,
}

/// A topic that has no description, that is not found by its own words, or that is recalled too often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallProblem {
    pub scope: MemoryScope,
    pub name: String,
    /// A question that shows the problem; may be empty.
    pub question: String,
    /// Topics that were found instead.
    pub instead: Vec<String>,
    pub reason: String,
    /// What to change in the topic.
    pub advice: String,
}

/// Why a memory was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecallWhy {
    pub by: Strategy,
    /// Words of the query that the topic contains, most significant first.
    pub terms: Vec<RecallTerm>,
    /// Score from matching words only.
    pub score: f64,
    /// The memory's rank among those that the model chose, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
    /// The memory was added because it is pinned, not because it matches.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

/// A word, and the parts of the topic that contain it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallTerm {
    /// The word as the index stores it: in lower case and stemmed.
    pub term: String,
    pub fields: Vec<TopicField>,
}

/// A part of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TopicField {
    Name,
    Description,
    /// A question that the topic answers, in its front matter.
    Question,
    Heading,
    /// A path, a symbol or an error code in the body.
    Identifier,
    Body,
}
