//! What is looked at, and what is found there.

pub use bethink_api::Severity;

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
