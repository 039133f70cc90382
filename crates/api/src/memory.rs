use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// Whose memory a topic is in.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    #[default]
    Private,
    /// The directory of a project that several people share.
    Team,
}

impl MemoryScope {
    pub const ALL: [Self; 2] = [Self::Private, Self::Team];
}

/// What a memory is about; no part in which one is chosen.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case", try_from = "String")]
pub enum MemoryKind {
    User,
    Feedback,
    Project,
    Reference,
}

/// Not one of the four.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no type of memory: use user, feedback, project or reference")]
pub struct UnknownKind(pub String);

impl MemoryKind {
    pub const ALL: [Self; 4] = [Self::User, Self::Feedback, Self::Project, Self::Reference];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Feedback => "feedback",
            Self::Project => "project",
            Self::Reference => "reference",
        }
    }
}

/// As people write it in front matter, in any case.
impl FromStr for MemoryKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        let is_named = |kind: &Self| kind.as_str().eq_ignore_ascii_case(text.trim());
        let known = Self::ALL.into_iter().find(is_named);
        known.ok_or_else(|| UnknownKind(text.chars().take(40).collect()))
    }
}

impl TryFrom<String> for MemoryKind {
    type Error = UnknownKind;

    fn try_from(text: String) -> Result<Self, UnknownKind> {
        text.parse()
    }
}

/// What became of a topic, or would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryOutcome {
    Created,
    Changed,
    /// It says that already.
    Same,
    Removed,
    /// For the team: it waits for a person.
    Proposed,
    /// As it was before the session that taught it something.
    Restored,
    /// Without the lines that a session taught.
    Cut,
}

/// Who wrote a version of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryAuthor {
    Person,
    /// A client's model, of its own accord.
    Agent,
    Extraction,
    Dream,
    Sync,
    Restore,
    /// It stood there before.
    Found,
}

/// A topic of a project's memory, without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Memory {
    pub scope: MemoryScope,
    /// The file within the memory directory, without `.md`.
    pub name: String,
    /// As its front matter names it, where that says something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Absent where the file names none.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// When the file was last written.
    pub modified: String,
    pub bytes: u64,
    /// Its tag, for `If-Match`.
    #[serde(default)]
    pub etag: String,
    /// Where it was learnt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<MemorySource>,
}

/// Where a memory was learnt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemorySource {
    pub session: String,
    /// Seqs, such as `12` or `12-14`.
    pub messages: Vec<String>,
    /// `embedded`, `model`, `agent` or `person`.
    pub strategy: String,
    /// RFC 3339.
    pub time: String,
}

/// `GET /v1/memories`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MemoriesPage {
    pub memories: Vec<Memory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// `GET /v1/memories/index`: the index as prompts get it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MemoryIndex {
    /// Where the project's memory lies.
    pub dir: String,
    pub scope: MemoryScope,
    pub content: String,
    /// Of the whole file.
    pub lines: u64,
    pub bytes: u64,
    /// `lines` or `bytes`: the cap that cut it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_by: Option<String>,
    pub warnings: Vec<String>,
    /// Topics in the directory, whether the index names them or not.
    #[serde(default)]
    pub topics: u64,
    /// Files that look like memories and are none, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strange: Vec<String>,
    /// Why the directory can't be looked at; what is told of it is older then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Changes are found by looking every few seconds: the system has no watches left.
    #[serde(default)]
    pub polled: bool,
}

/// `POST /v1/memories`: something to remember, in a file whose name the daemon finds.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Remember {
    pub project_dir: String,
    pub text: String,
    /// A file's name; found from the title or text where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// One line that says what it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// `private` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// The session that it was said in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
}

/// What came of a write.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MemoryWritten {
    pub scope: MemoryScope,
    pub name: String,
    /// Of what was written, where it has one.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// Where the file lies.
    pub path: String,
    /// Its tag, for `If-Match`; empty where it was removed.
    pub etag: String,
    pub outcome: MemoryOutcome,
    /// Caps that were passed, and what else a writer should know.
    pub warnings: Vec<String>,
}

/// One version of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryVersion {
    pub version: i64,
    pub at: String,
    pub author: MemoryAuthor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Uuid>,
    /// Why, where somebody said so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Absent: the file was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    pub etag: String,
    /// It is what the file holds now.
    pub current: bool,
}

/// `GET /v1/memories/{scope}/{name}/history`, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MemoryHistory {
    pub versions: Vec<MemoryVersion>,
}

/// `POST /v1/memories/{scope}/{name}/restore`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RestoreMemory {
    /// A version's number [default: the newest that differs from the file].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
}

/// Both sides of a write that lost a race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BothVersions {
    /// What the file holds; absent where it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// Its tag, to write on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// What was to be written; absent where the file was to go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yours: Option<String>,
}

/// Which topics of a project to list, in order of scope and name.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MemoryQuery {
    /// Any directory of the project
    pub project_dir: String,
    /// Both by default
    pub scope: Option<MemoryScope>,
    /// At most so many
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
    /// `next_cursor` of the page before
    pub cursor: Option<String>,
}

/// Which memory directories of a project.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ScopeQuery {
    /// Any directory of the project
    pub project_dir: String,
    /// An index is of one, `private` by default, findings are of both
    pub scope: Option<MemoryScope>,
}

/// Which versions of a topic, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// Any directory of the project
    pub project_dir: String,
    /// At most so many
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
    /// Only versions with smaller numbers, for the next page
    pub before: Option<u64>,
    /// The text of this one instead of the list
    pub version: Option<u64>,
}
