//! The input of a lint, and its findings.

pub use bethink_api::{MemoryFinding, Severity};

use crate::name::{Name, Scope};

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

/// An entry of the directory that looks like a memory but cannot be read as one.
#[derive(Clone, Copy, Debug)]
pub struct StrangeFile<'a> {
    /// Path relative to the directory.
    pub path: &'a str,
    /// What is wrong with the entry, as a predicate: `is not a regular file`.
    pub why: &'a str,
}

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

pub(super) fn at(line: usize, finding: MemoryFinding) -> MemoryFinding {
    MemoryFinding { line: Some(line as u64), ..finding }
}
