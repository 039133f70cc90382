use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// `GET /v1/instructions`: the instruction files that count for a working directory.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct InstructionChain {
    /// `false`: the configuration keeps them out of prompts.
    pub enabled: bool,
    /// The toplevel of the working tree, or the directory itself.
    pub root: String,
    pub cwd: String,
    /// In the order of the prompt: the later one is, the nearer and the stronger.
    pub files: Vec<InstructionFile>,
    pub skipped: Vec<SkippedInstruction>,
    /// Skipped ones that are not listed.
    #[serde(default)]
    pub skipped_more: u64,
    /// Real paths that a person approved for this project.
    #[serde(default)]
    pub approved: Vec<String>,
}

/// Which place a file has.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum InstructionKind {
    Managed,
    User,
    Project,
    Rule,
    Local,
    Import,
}

/// A file that is loaded.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct InstructionFile {
    pub path: String,
    /// Where a symlink leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_path: Option<String>,
    pub kind: InstructionKind,
    /// In words.
    pub why: String,
    /// A touched file brought it in; it stands at the tail and ends with a compaction.
    #[serde(default)]
    pub touched: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_by: Option<String>,
    /// A rule's patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Of the file.
    pub bytes: u64,
    /// Of what is loaded of it.
    pub lines: u64,
    pub chars: u64,
    /// Estimated.
    pub tokens: u64,
    #[serde(default)]
    pub warnings: Vec<String>,
    /// As the model reads it.
    pub content: String,
}

/// Why a file is not loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkipKind {
    /// Until a file is touched that matches.
    Waiting,
    AlreadyLoaded,
    SameText,
    ClaudeMdCounts,
    OtherTool,
    Empty,
    NoSuchFile,
    Cycle,
    TooDeep,
    Directory,
    NotAFile,
    OfTheSystem,
    Outside,
    Secret,
    Foreign,
    TooLarge,
    NotText,
    NoPattern,
    Unreadable,
    TooMany,
}

/// A file that is not loaded.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SkippedInstruction {
    pub path: String,
    pub reason: SkipKind,
    /// In words.
    pub why: String,
    /// Nothing is missing.
    #[serde(default)]
    pub harmless: bool,
    /// `POST /v1/instructions/approve` would load it.
    #[serde(default)]
    pub approve: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_by: Option<String>,
}

/// `POST /v1/instructions/approve` and `/revoke`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ApproveImport {
    pub project_dir: String,
    /// Absolute, or relative to the project's directory.
    pub path: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ImportApproval {
    /// Without symlinks.
    pub path: String,
    pub approved: bool,
}

/// Which instruction files to look for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct InstructionQuery {
    /// Any directory of the project
    pub project_dir: String,
    /// The working directory; the project's by default
    pub cwd: Option<String>,
    /// A file as a session would touch it; may be repeated
    #[serde(default)]
    #[param(value_type = Option<Vec<String>>)]
    pub touched: Vec<String>,
}
