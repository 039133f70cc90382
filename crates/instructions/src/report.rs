//! What was loaded, what was not, and why: for people as much as for prompts.

use std::fmt;
use std::path::PathBuf;

use crate::limits::{MOST_BYTES, MOST_DEPTH, MOST_FILE_BYTES, MOST_FILES, MOST_IMPORTS};

/// Patterns of a rule that its reason names.
const NAMED: usize = 3;

/// All instructions for one working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The chain, furthest first: the later a file, the stronger it is. The same whatever is touched.
    pub chain: Vec<Loaded>,
    /// What touched files brought in, in the order of [`Instructions::chain`].
    pub touched: Vec<Loaded>,
    pub skipped: Vec<Skipped>,
    /// Skipped ones that are only counted.
    pub untold: usize,
}

/// Which place a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Managed,
    User,
    Project,
    Rule,
    Local,
    Import,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Managed => "managed",
            Kind::User => "user",
            Kind::Project => "project",
            Kind::Rule => "rule",
            Kind::Local => "local",
            Kind::Import => "import",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A file as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// As it was come upon; `real` is without symlinks.
    pub path: PathBuf,
    pub real: PathBuf,
    pub kind: Kind,
    pub why: Why,
    pub imported_by: Option<PathBuf>,
    /// A rule's `paths`.
    pub patterns: Vec<String>,
    /// Of the file.
    pub bytes: u64,
    /// Of what is loaded of it.
    pub lines: usize,
    pub chars: usize,
    pub warnings: Vec<String>,
    pub content: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It belongs to the chain.
    Always,
    Imported,
    /// A rule, and what matched.
    Matched {
        touched: PathBuf,
        pattern: String,
    },
    /// It lies on the way from the working directory to a touched file.
    Below {
        touched: PathBuf,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Always => f.write_str("always loaded"),
            Why::Imported => f.write_str("imported"),
            Why::Matched { touched, pattern } => {
                write!(f, "{} was touched, which matches {pattern}", touched.display())
            }
            Why::Below { touched } => {
                write!(f, "{} was touched, which lies below it", touched.display())
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub path: PathBuf,
    /// What an approval would name; where the file could be found.
    pub real: Option<PathBuf>,
    pub imported_by: Option<PathBuf>,
    pub reason: Reason,
}

impl Skipped {
    /// The reason, as a person reads it beside the path.
    pub fn why(&self) -> String {
        match &self.reason {
            Reason::AlreadyLoaded { path } if *path == self.path => {
                "already loaded: it was come upon before".to_owned()
            }
            reason => reason.to_string(),
        }
    }
}

/// Why a file was not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A rule that waits for a file.
    Waiting {
        patterns: Vec<String>,
    },
    AlreadyLoaded {
        path: PathBuf,
    },
    SameText {
        path: PathBuf,
    },
    /// The directory's `CLAUDE.md` counts.
    ClaudeMdCounts,
    OtherTool {
        tool: &'static str,
    },
    Empty,
    NoSuchFile,
    Cycle,
    TooDeep,
    Directory,
    /// A device, pipe or socket.
    NotAFile,
    OfTheSystem,
    Outside {
        real: PathBuf,
    },
    Secret {
        what: String,
    },
    Foreign,
    TooLarge {
        bytes: u64,
    },
    NotText,
    NoPattern {
        faults: Vec<String>,
    },
    Unreadable {
        error: String,
    },
    TooManyFiles,
    TooManyBytes,
    TooManyImports,
}

impl Reason {
    /// A person may approve it; the rest cannot be loaded, or need not.
    pub fn may_approve(&self) -> bool {
        matches!(self, Reason::Outside { .. } | Reason::Secret { .. } | Reason::Foreign)
    }

    /// All is well: it is loaded elsewhere, later or by others.
    pub fn is_harmless(&self) -> bool {
        use Reason::{AlreadyLoaded, ClaudeMdCounts, Cycle, Empty, OtherTool, SameText, Waiting};
        matches!(
            self,
            Waiting { .. }
                | AlreadyLoaded { .. }
                | SameText { .. }
                | ClaudeMdCounts
                | OtherTool { .. }
                | Empty
                | Cycle
        )
    }

    pub fn as_str(&self) -> &'static str {
        match self {
            Reason::Waiting { .. } => "waiting",
            Reason::AlreadyLoaded { .. } => "already_loaded",
            Reason::SameText { .. } => "same_text",
            Reason::ClaudeMdCounts => "claude_md_counts",
            Reason::OtherTool { .. } => "other_tool",
            Reason::Empty => "empty",
            Reason::NoSuchFile => "no_such_file",
            Reason::Cycle => "cycle",
            Reason::TooDeep => "too_deep",
            Reason::Directory => "directory",
            Reason::NotAFile => "not_a_file",
            Reason::OfTheSystem => "of_the_system",
            Reason::Outside { .. } => "outside",
            Reason::Secret { .. } => "secret",
            Reason::Foreign => "foreign",
            Reason::TooLarge { .. } => "too_large",
            Reason::NotText => "not_text",
            Reason::NoPattern { .. } => "no_pattern",
            Reason::Unreadable { .. } => "unreadable",
            Reason::TooManyFiles | Reason::TooManyBytes | Reason::TooManyImports => "too_many",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Waiting { patterns } => {
                let named: Vec<&str> = patterns.iter().take(NAMED).map(String::as_str).collect();
                write!(f, "loads when a file is touched that matches {}", named.join(", "))?;
                match patterns.len().saturating_sub(NAMED) {
                    0 => Ok(()),
                    more => write!(f, " or {more} more"),
                }
            }
            Reason::AlreadyLoaded { path } => write!(f, "already loaded as {}", path.display()),
            Reason::SameText { path } => write!(f, "holds the same text as {}", path.display()),
            Reason::ClaudeMdCounts => f.write_str("the CLAUDE.md beside it is loaded instead"),
            Reason::OtherTool { tool } => write!(f, "belongs to {tool} and is not read"),
            Reason::Empty => f.write_str("holds no text"),
            Reason::NoSuchFile => f.write_str("there is no such file"),
            Reason::Cycle => f.write_str("imports itself, directly or through others"),
            Reason::TooDeep => write!(f, "imports go at most {MOST_DEPTH} deep"),
            Reason::Directory => f.write_str("is a directory; only files are loaded"),
            Reason::NotAFile => f.write_str("is a device, pipe or socket, which is never read"),
            Reason::OfTheSystem => f.write_str("belongs to the running system and is never read"),
            Reason::Outside { real } => {
                write!(
                    f,
                    "lies outside of the project, at {}: approve it to load it",
                    real.display()
                )
            }
            Reason::Secret { what } => {
                write!(f, "looks like a secret ({what}): it is loaded only if you approve it")
            }
            Reason::Foreign => {
                f.write_str("lies in other people's code: it is loaded only if you approve it")
            }
            Reason::TooLarge { bytes } => {
                write!(f, "{bytes} bytes; at most {MOST_FILE_BYTES} are loaded")
            }
            Reason::NotText => f.write_str("is not UTF-8 text"),
            Reason::NoPattern { faults } => {
                write!(f, "no pattern in its paths can be used: {}", faults.join("; "))
            }
            Reason::Unreadable { error } => write!(f, "could not be read: {error}"),
            Reason::TooManyFiles => write!(f, "at most {MOST_FILES} files are loaded"),
            Reason::TooManyBytes => write!(f, "at most {MOST_BYTES} bytes are loaded in all"),
            Reason::TooManyImports => {
                write!(f, "holds more imports: at most {MOST_IMPORTS} are looked up in all")
            }
        }
    }
}
