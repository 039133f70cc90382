//! What is wrong with a memory directory, and what to do about it. Nothing is mended here: files belong to
//! their people.

mod alike;
mod index;
mod known;
#[cfg(test)]
mod tests;
mod topics;

use std::fmt;

use crate::name::{Name, Scope};

/// A directory as it was read.
#[derive(Clone, Copy, Debug)]
pub struct Directory<'a> {
    pub scope: Scope,
    /// `MEMORY.md`, if there is one.
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

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    /// Stable, for programs: `dead-link`.
    pub rule: &'static str,
    /// Within the directory.
    pub file: String,
    /// From 1.
    pub line: Option<usize>,
    pub what: String,
    /// What a person can do.
    pub help: String,
}

/// All findings: the gravest first, then by file and line.
pub fn lint(directory: &Directory<'_>) -> Vec<Finding> {
    let known = known::Known::of(directory.topics);
    let mut out = Vec::new();
    index::lint(directory, &known, &mut out);
    topics::lint(directory, &known, &mut out);
    alike::lint(&known, &mut out);
    out.extend(directory.strange.iter().map(strange));
    out.sort_by(|a, b| {
        let key = |finding: &Finding| (finding.severity, finding.file.clone(), finding.line);
        key(a).cmp(&key(b))
    });
    out
}

fn strange(file: &StrangeFile<'_>) -> Finding {
    Finding {
        severity: Severity::Error,
        rule: "unreadable",
        file: file.path.to_owned(),
        line: None,
        what: file.why.to_owned(),
        help: "it is not recalled: mend it, or move it out of the directory".to_owned(),
    }
}
