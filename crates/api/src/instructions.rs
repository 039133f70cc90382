use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The instruction files that apply to a working directory.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct InstructionChain {
    /// Whether prompts include instruction files, according to the configuration.
    pub enabled: bool,
    /// The root of the git working tree that contains the project, or else the project directory.
    pub root: String,
    /// The working directory.
    pub cwd: String,
    /// In the order of the prompt. Later files take precedence.
    pub files: Vec<InstructionFile>,
    /// Files that are not loaded.
    pub skipped: Vec<SkippedInstruction>,
    /// Number of skipped files that are not listed.
    #[serde(default)]
    pub skipped_more: u64,
    /// Real paths of files that a person approved for this project.
    #[serde(default)]
    pub approved: Vec<String>,
}

/// Where an instruction file comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstructionKind {
    Managed,
    User,
    Project,
    Rule,
    Local,
    Import,
}

/// An instruction file that is loaded.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct InstructionFile {
    pub path: String,
    /// The path with symlinks resolved, if it differs from `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_path: Option<String>,
    pub kind: InstructionKind,
    /// The reason, in words.
    pub why: String,
    /// Loaded because the agent read or changed a file that the instructions apply to. Such instructions are at the end of
    /// the prompt until the next compaction.
    #[serde(default)]
    pub touched: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_by: Option<String>,
    /// The path patterns of a rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Size of the file, in bytes.
    pub bytes: u64,
    /// Number of lines that are loaded.
    pub lines: u64,
    /// Number of characters that are loaded.
    pub chars: u64,
    /// Estimated number of tokens.
    pub tokens: u64,
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The text as the model reads it.
    pub content: String,
}

/// Why a file is not loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkipKind {
    /// Not loaded until the agent reads or changes a matching file.
    Waiting,
    AlreadyLoaded,
    SameText,
    ClaudeMdCounts,
    OtherTool,
    /// In a directory above the project's root.
    AboveRoot,
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

/// An instruction file that is not loaded.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SkippedInstruction {
    pub path: String,
    pub reason: SkipKind,
    /// The reason, in words.
    pub why: String,
    /// Nothing is wrong: for example, the file is empty, was already loaded, or is for another program.
    #[serde(default)]
    pub harmless: bool,
    /// `POST /v1/instructions/approve` can allow the file.
    #[serde(default)]
    pub approve: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_by: Option<String>,
}

/// The file that a project may load from now on, or may no longer load.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ApproveImport {
    pub project_dir: String,
    /// Absolute, or relative to the project's directory.
    pub path: String,
}

/// Whether a file is approved for a project.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ImportApproval {
    /// The path with symlinks resolved.
    pub path: String,
    /// Whether the file may be loaded now.
    pub approved: bool,
}

/// Which instruction files to look for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct InstructionQuery {
    /// Any directory of the project
    pub project_dir: String,
    /// The working directory; the project directory by default
    pub cwd: Option<String>,
    /// A file that a session would read or change; may be repeated
    #[serde(default)]
    #[param(value_type = Option<Vec<String>>)]
    pub touched: Vec<String>,
}
