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

/// A file that is loaded.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct InstructionFile {
    pub path: String,
    /// Where a symlink leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_path: Option<String>,
    /// `managed`, `user`, `project`, `rule`, `local` or `import`.
    pub kind: String,
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

/// A file that is not loaded.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SkippedInstruction {
    pub path: String,
    /// `waiting`, `already_loaded`, `same_text`, `claude_md_counts`, `other_tool`, `empty`, `no_such_file`,
    /// `cycle`, `too_deep`, `directory`, `not_a_file`, `of_the_system`, `outside`, `secret`, `foreign`,
    /// `too_large`, `not_text`, `no_pattern`, `unreadable` or `too_many`.
    pub reason: String,
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
