//! Reports which files were loaded, which were not, and why.

use std::fmt;
use std::path::PathBuf;

pub use bethink_api::InstructionKind;
use bethink_api::SkipKind;

use crate::limits::{MOST_BYTES, MOST_DEPTH, MOST_FILE_BYTES, MOST_FILES, MOST_IMPORTS};

/// Maximum number of a rule's patterns that are listed in a reason.
const NAMED: usize = 3;

/// All instructions that apply in a working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstructionSet {
    /// The chain, most general file first: later files take precedence. The chain does not depend on touched files.
    pub chain: Vec<LoadedInstruction>,
    /// Files that apply because of touched files, in the order of [`InstructionSet::chain`].
    pub touched: Vec<LoadedInstruction>,
    pub skipped: Vec<SkippedFile>,
    /// Number of skipped files that are not listed.
    pub unlisted: usize,
}

/// A file as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedInstruction {
    /// The path under which the file was found. `real` is the path without symlinks.
    pub path: PathBuf,
    pub real: PathBuf,
    pub kind: InstructionKind,
    pub why: SkipReason,
    pub imported_by: Option<PathBuf>,
    /// The `paths` of a rule.
    pub patterns: Vec<String>,
    /// Size of the file, in bytes.
    pub bytes: u64,
    /// Number of lines that are loaded.
    pub lines: usize,
    pub chars: usize,
    pub warnings: Vec<String>,
    pub content: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// The file is part of the chain.
    Always,
    Imported,
    /// The file is a rule, and a touched file matched.
    Matched {
        touched: PathBuf,
        pattern: String,
    },
    /// The file is in a directory between the working directory and a touched file.
    Below {
        touched: PathBuf,
    },
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::Always => f.write_str("always loaded"),
            SkipReason::Imported => f.write_str("imported"),
            SkipReason::Matched { touched, pattern } => {
                write!(f, "{} was read or written, and it matches {pattern}", touched.display())
            }
            SkipReason::Below { touched } => {
                write!(
                    f,
                    "{} was read or written, and it is in or below the directory of this instruction file",
                    touched.display()
                )
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedFile {
    pub path: PathBuf,
    /// The path to approve, if the file was found.
    pub real: Option<PathBuf>,
    pub imported_by: Option<PathBuf>,
    pub reason: Reason,
}

impl SkippedFile {
    /// Returns the reason in words, for display next to the path.
    pub fn why(&self) -> String {
        match &self.reason {
            Reason::AlreadyLoaded { path } if *path == self.path => "already loaded".to_owned(),
            reason => reason.to_string(),
        }
    }
}

/// The reason why a file was not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("is loaded when the agent uses a file that matches {}", some(.patterns))]
    Waiting { patterns: Vec<String> },
    #[error("already loaded as {}", .path.display())]
    AlreadyLoaded { path: PathBuf },
    #[error("has the same text as {}", .path.display())]
    SameText { path: PathBuf },
    #[error("the CLAUDE.md next to it is loaded instead")]
    ClaudeMdCounts,
    #[error("belongs to {tool} and is not read")]
    OtherTool { tool: &'static str },
    #[error(
        "is in a directory above the project; set `instructions_above = true` in `[memory]` to load such files"
    )]
    AboveRoot,
    #[error("has no text")]
    Empty,
    #[error("file not found")]
    NoSuchFile,
    #[error("imports itself, directly or through other files")]
    Cycle,
    #[error("is nested too deeply: imports may be at most {MOST_DEPTH} levels deep")]
    TooDeep,
    #[error("is a directory; only files are loaded")]
    Directory,
    #[error("is a device, pipe or socket; bethink never reads those")]
    NotAFile,
    #[error("is in /proc, /sys or /dev; bethink never reads files there")]
    OfTheSystem,
    #[error("is outside the project, at {}: approve it to load it", .real.display())]
    Outside { real: PathBuf },
    #[error("may contain secrets, because its path contains {what}: approve it to load it")]
    Secret { what: String },
    #[error("is in third-party code: approve it to load it")]
    Foreign,
    #[error("is {bytes} bytes; the limit is {MOST_FILE_BYTES}")]
    TooLarge { bytes: u64 },
    #[error("is not UTF-8 text")]
    NotText,
    #[error("none of its path patterns can be used: {}", .faults.join("; "))]
    NoPattern { faults: Vec<String> },
    #[error("could not be read: {error}")]
    Unreadable { error: String },
    #[error("at most {MOST_FILES} files are loaded")]
    TooManyFiles,
    #[error("at most {MOST_BYTES} bytes are loaded in total")]
    TooManyBytes,
    #[error(
        "some of its imports were skipped, because at most {MOST_IMPORTS} imports are followed in total"
    )]
    TooManyImports,
}

impl Reason {
    /// Returns whether a person may approve the file.
    pub fn may_approve(&self) -> bool {
        matches!(self, Reason::Outside { .. } | Reason::Secret { .. } | Reason::Foreign)
    }

    /// Returns whether nothing is wrong: the file was loaded elsewhere, may be loaded later, or is for other programs.
    pub fn is_harmless(&self) -> bool {
        use Reason::{
            AboveRoot, AlreadyLoaded, ClaudeMdCounts, Cycle, Empty, OtherTool, SameText, Waiting,
        };
        matches!(
            self,
            Waiting { .. }
                | AlreadyLoaded { .. }
                | SameText { .. }
                | ClaudeMdCounts
                | OtherTool { .. }
                | AboveRoot
                | Empty
                | Cycle
        )
    }

    pub fn kind(&self) -> SkipKind {
        match self {
            Reason::Waiting { .. } => SkipKind::Waiting,
            Reason::AlreadyLoaded { .. } => SkipKind::AlreadyLoaded,
            Reason::SameText { .. } => SkipKind::SameText,
            Reason::ClaudeMdCounts => SkipKind::ClaudeMdCounts,
            Reason::OtherTool { .. } => SkipKind::OtherTool,
            Reason::AboveRoot => SkipKind::AboveRoot,
            Reason::Empty => SkipKind::Empty,
            Reason::NoSuchFile => SkipKind::NoSuchFile,
            Reason::Cycle => SkipKind::Cycle,
            Reason::TooDeep => SkipKind::TooDeep,
            Reason::Directory => SkipKind::Directory,
            Reason::NotAFile => SkipKind::NotAFile,
            Reason::OfTheSystem => SkipKind::OfTheSystem,
            Reason::Outside { .. } => SkipKind::Outside,
            Reason::Secret { .. } => SkipKind::Secret,
            Reason::Foreign => SkipKind::Foreign,
            Reason::TooLarge { .. } => SkipKind::TooLarge,
            Reason::NotText => SkipKind::NotText,
            Reason::NoPattern { .. } => SkipKind::NoPattern,
            Reason::Unreadable { .. } => SkipKind::Unreadable,
            Reason::TooManyFiles | Reason::TooManyBytes | Reason::TooManyImports => {
                SkipKind::TooMany
            }
        }
    }
}

/// Lists the first few patterns of a rule.
fn some(patterns: &[String]) -> String {
    let named = patterns[..patterns.len().min(NAMED)].join(", ");
    match patterns.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} or {more} more"),
    }
}
