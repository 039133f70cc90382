//! The input of a lint, and how a finding is made.

pub use bethink_api::{MemoryFinding, Severity};

use crate::name::{Name, Scope};

/// The content of a directory.
#[derive(Clone, Copy, Debug)]
pub struct Directory<'a> {
    pub scope: Scope,
    pub index: Option<&'a str>,
    pub topics: &'a [TopicFile<'a>],
    pub strange: &'a [StrangeFile<'a>],
}

#[derive(Clone, Copy, Debug)]
pub struct TopicFile<'a> {
    pub name: &'a Name,
    pub text: &'a str,
}

/// An entry that looks like a memory but cannot be read as one.
#[derive(Clone, Copy, Debug)]
pub struct StrangeFile<'a> {
    /// Relative to the directory.
    pub path: &'a str,
    /// Continues the path: `is no regular file`.
    pub why: &'a str,
}

/// A finding about a whole file.
pub(super) fn finding(
    severity: Severity,
    rule: &str,
    file: impl Into<String>,
    what: impl Into<String>,
    help: &str,
) -> MemoryFinding {
    let (rule, help) = (rule.to_owned(), help.to_owned());
    MemoryFinding { severity, rule, file: file.into(), line: None, what: what.into(), help }
}

/// A finding about one line of a file.
pub(super) fn at(line: usize, finding: MemoryFinding) -> MemoryFinding {
    MemoryFinding { line: Some(line as u64), ..finding }
}
