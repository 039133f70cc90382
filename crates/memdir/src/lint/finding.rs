//! What is looked at, and what is found there.

use std::fmt;

use crate::name::{Name, Scope};

/// A directory as it was read.
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

/// An entry that looks like a memory and can't be read as one.
#[derive(Clone, Copy, Debug)]
pub struct StrangeFile<'a> {
    /// Within the directory.
    pub path: &'a str,
    /// Goes on from the path: `is no regular file`.
    pub why: &'a str,
}

/// How much it matters, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Something that was written down is not found, or is not what it seems.
    Error,
    /// Found less well than it could be.
    Warning,
    /// Tidiness.
    Note,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintFinding {
    pub severity: Severity,
    /// Stable, for programs: `dead-link`.
    pub rule: &'static str,
    /// Within the directory.
    pub file: String,
    /// From 1.
    pub line: Option<usize>,
    pub what: String,
    pub help: String,
}

impl LintFinding {
    /// Of a whole file.
    pub(super) fn new(
        severity: Severity,
        rule: &'static str,
        file: impl Into<String>,
        what: impl Into<String>,
        help: &str,
    ) -> Self {
        let (file, what, help) = (file.into(), what.into(), help.to_owned());
        Self { severity, rule, file, line: None, what, help }
    }

    pub(super) fn at(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}
