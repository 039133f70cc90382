use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// Whose memory a topic belongs to.
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
    /// A directory that a project's team shares.
    Team,
    /// Memories about the person, which apply to all projects. A project's private topic of the same name takes
    /// precedence.
    Person,
}

impl MemoryScope {
    pub const ALL: [Self; 3] = [Self::Private, Self::Team, Self::Person];

    /// Returns the default scope for a memory of this type.
    pub fn of(kind: Option<MemoryKind>) -> Self {
        match kind {
            Some(MemoryKind::User) => Self::Person,
            _ => Self::Private,
        }
    }

    /// Returns the label that marks topics of this scope in lists of several scopes.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Private => "",
            Self::Team => "team/",
            Self::Person => "person/",
        }
    }
}

/// What a memory is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", try_from = "String")]
pub enum MemoryKind {
    User,
    Feedback,
    Project,
    Reference,
}

/// The error for an unknown memory type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a memory type: use user, feedback, project or reference")]
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

/// Ignores case, because people write the type by hand in front matter.
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

/// When a memory is added to prompts automatically, if its front matter decides that with the key `recall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryRecall {
    /// In every session, even if it does not match what was said.
    Always,
    /// Never. Its line in the index is left out of prompts, too. Searches still find it.
    Never,
}

/// The error for an unknown value of `recall`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a value of `recall`: use always or never")]
pub struct UnknownRecall(pub String);

impl MemoryRecall {
    pub const ALL: [Self; 2] = [Self::Always, Self::Never];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

/// Ignores case, because people write the value by hand in front matter.
impl FromStr for MemoryRecall {
    type Err = UnknownRecall;

    fn from_str(text: &str) -> Result<Self, UnknownRecall> {
        let is_named = |value: &Self| value.as_str().eq_ignore_ascii_case(text.trim());
        let known = Self::ALL.into_iter().find(is_named);
        known.ok_or_else(|| UnknownRecall(text.chars().take(40).collect()))
    }
}

/// What happened to a topic, or would happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryOutcome {
    Created,
    Changed,
    /// The topic already contained that text.
    Same,
    Removed,
    /// Proposed to the team; a person has to approve it.
    Proposed,
    /// Restored to its state before the session changed it.
    Restored,
    /// Only the lines that a session added were removed.
    Cut,
}

/// Who wrote a version of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryAuthor {
    Person,
    /// A client's model, on its own initiative.
    Agent,
    Extraction,
    Dream,
    Sync,
    Restore,
    /// Not known: bethink found this content in the directory.
    Found,
}

/// A topic of a project's memory, without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Memory {
    pub scope: MemoryScope,
    /// The file name in the memory directory, without `.md`.
    pub name: String,
    /// The name in the file's front matter, if it differs from the file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Absent if the file does not specify one.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// Questions that the memory answers, worded differently from its text: at most 5, of up to 200 characters each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// When the memory is added to prompts automatically; absent if it is added when it is relevant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall: Option<MemoryRecall>,
    /// When the memory last changed, as RFC 3339: the time in its front matter, or else that of its file.
    pub modified: String,
    pub bytes: u64,
    /// ETag of the file, for the header `If-Match` of the next write.
    #[serde(default)]
    pub etag: String,
    /// Where the memory was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<MemorySource>,
    /// The branch on which the memory was learned, if the checkout of `project_dir` does not contain that branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmerged: Option<String>,
}

/// Where a memory was learned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemorySource {
    /// ID of the session; empty if it was not learned in one.
    pub session: String,
    /// Message positions, such as `12` or `12-14`.
    pub messages: Vec<String>,
    /// How the memory was learned: `embedded`, `model`, `agent`, `person`, or `import from` and a program's name.
    pub strategy: String,
    /// When the memory was learned, as RFC 3339.
    pub time: String,
    /// The git branch that was checked out then; empty if there was none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// The commit that was checked out then.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
}

/// Topics of a project, in order of scope and name.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MemoriesPage {
    pub memories: Vec<Memory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A limit on the part of an index that prompts show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexLimit {
    Lines,
    Bytes,
}

/// The memory index as it appears in prompts.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MemoryIndex {
    /// The project's memory directory.
    pub dir: String,
    pub scope: MemoryScope,
    /// Text of the index, cut off at the limits.
    pub content: String,
    /// Number of lines in the whole file.
    pub lines: u64,
    /// Size of the whole file, in bytes.
    pub bytes: u64,
    /// The limit at which the text was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_by: Option<IndexLimit>,
    pub warnings: Vec<String>,
    /// Number of topics in the directory, including those that the index does not list.
    #[serde(default)]
    pub topics: u64,
    /// Files that look like topics but are not, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strange: Vec<String>,
    /// Why the directory cannot be read. The other fields are then out of date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Whether the directory is checked every few seconds, because the system does not report changes in it.
    #[serde(default)]
    pub polled: bool,
}

/// Something to remember. The daemon chooses a file name.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Remember {
    pub project_dir: String,
    /// What to remember.
    pub text: String,
    /// The file name; derived from the description if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A one-line description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Questions that the memory answers, worded differently from its text: at most 5, of up to 200 characters each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// By default `person` for the type `user`, else `private`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// The session that this comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
    /// Secret-scan findings that a person allows: rule names, or `RULE:LINE` if a rule has several findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_secret: Vec<String>,
}

/// The result of a write.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MemoryWritten {
    pub scope: MemoryScope,
    pub name: String,
    /// The type of the memory, if it has one.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// Path of the file.
    pub path: String,
    /// ETag of the file, for the header `If-Match` of the next write; empty if the file was removed.
    pub etag: String,
    pub outcome: MemoryOutcome,
    /// Limits that were exceeded, and other warnings.
    pub warnings: Vec<String>,
}

/// One version of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryVersion {
    /// Number of this version; a topic's versions are numbered from 1.
    pub version: i64,
    pub at: String,
    pub author: MemoryAuthor,
    /// The session that caused this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Uuid>,
    /// The reason, if one was given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Size of the file, in bytes; absent if the file was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The ETag of this version.
    pub etag: String,
    /// Whether the file has this content now.
    pub current: bool,
}

/// The versions of a topic, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MemoryHistory {
    pub versions: Vec<MemoryVersion>,
}

/// Which version to restore.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RestoreMemory {
    /// Number of the version; by default the newest that differs from the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
}

/// Both sides of a conflicting write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BothVersions {
    /// Content of the file; absent if the file does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// ETag of the file, for the next write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The content to write; absent if the file was to be removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yours: Option<String>,
}

/// Which topics of a project to list, in order of scope and name.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MemoryQuery {
    /// Any directory of the project
    pub project_dir: String,
    /// Only topics of this scope
    pub scope: Option<MemoryScope>,
    /// Maximum number of entries
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
    /// `next_cursor` of the previous page
    pub cursor: Option<String>,
}

/// A project, and one of its memory directories.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ScopeQuery {
    /// Any directory of the project
    pub project_dir: String,
    /// Which memory directory; by default, `private` for the index, and all directories for findings
    pub scope: Option<MemoryScope>,
}

/// Query parameters of a write: the project, and the secret-scan findings to allow.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PutMemoryQuery {
    /// Any directory of the project
    pub project_dir: String,
    /// Secret-scan findings that a person allows, separated by commas: rule names, or `RULE:LINE` if a rule has several
    /// findings
    pub allow_secret: Option<String>,
}

/// Which versions of a topic to list, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// Any directory of the project
    pub project_dir: String,
    /// Maximum number of entries
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
    /// Only versions with smaller numbers; for the next page
    pub before: Option<u64>,
    /// Return the text of this version instead of the list
    pub version: Option<u64>,
}
