//! Errors of the memory tool, worded as in the helper of Anthropic's SDKs.

/// Maximum number of characters of the model's text that an error quotes.
const QUOTED_CHARS: usize = 300;

/// Why a command failed. Paths are as the model wrote them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    #[error("Path must start with /memories, got: {0}")]
    Outside(String),
    #[error("Path {0} would escape /memories directory")]
    Escapes(String),
    #[error("Path {path} can't be a memory: {why}")]
    BadName { path: String, why: String },
    #[error("{path} can't be a memory file: its name must end with .md, such as {instead}")]
    NotMarkdown { path: String, instead: String },
    #[error("The path {0} does not exist. Please provide a valid path.")]
    Missing(String),
    #[error("The path {0} does not exist")]
    Gone(String),
    #[error("The path {0} is not a file.")]
    NotAFile(String),
    #[error("File {0} already exists")]
    Exists(String),
    #[error("The destination {0} already exists")]
    Taken(String),
    #[error("Cannot {deed} the /memories directory itself")]
    Root { deed: &'static str },
    #[error("Cannot {deed} {path}: it is the index of the other files; edit its lines instead")]
    Index { deed: &'static str, path: String },
    #[error("Cannot change {0}: the team's memory is read-only here; only a person can add to it")]
    Team(String),
    #[error(
        "No replacement was performed, old_str `{old}` did not appear verbatim in {path}.{why}"
    )]
    NotVerbatim { path: String, old: String, why: &'static str },
    #[error("No replacement was performed, old_str is empty. Provide the text to replace")]
    NothingToReplace,
    #[error(
        "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. Please ensure \
         it is unique"
    )]
    Several { old: String, lines: String },
    #[error("Invalid `insert_line` parameter: {line}. It should be within the range [0, {last}].")]
    NoSuchLine { line: i64, last: usize },
    #[error(
        "Invalid `view_range` parameter: {0:?}. It should be two line numbers, the first and the last; -1 as the last means the end of the file."
    )]
    BadRange(Vec<i64>),
    #[error("File {0} exceeds maximum line limit of 999,999 lines.")]
    TooManyLines(String),
    #[error("The destination {to} is inside {from}")]
    IntoItself { from: String, to: String },
    #[error("Cannot rename {from} to {to}: one is a folder and the other a file")]
    Unlike { from: String, to: String },
}

/// Returns the model's text, shortened for an error.
pub(crate) fn quoted(text: &str) -> String {
    let mut out: String = text.chars().take(QUOTED_CHARS).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}
