//! Finds problems in a memory directory and suggests how to fix them. Changes nothing: the files belong to people.

mod alike;
mod finding;
mod index;
mod known;
#[cfg(test)]
mod tests;
mod topics;

use finding::finding;
pub use finding::{Directory, MemoryFinding, Severity, StrangeFile, TopicFile};

/// Returns all findings, ordered by severity, file and line.
pub fn lint(directory: &Directory<'_>) -> Vec<MemoryFinding> {
    let known = known::KnownTopics::of(directory.topics);
    let mut out = Vec::new();
    index::lint(directory, &known, &mut out);
    topics::lint(directory, &known, &mut out);
    alike::lint(&known, &mut out);
    out.extend(directory.strange.iter().map(strange));
    out.sort_by(|a, b| {
        let key = |finding: &MemoryFinding| (finding.severity, finding.file.clone(), finding.line);
        key(a).cmp(&key(b))
    });
    out
}

fn strange(file: &StrangeFile<'_>) -> MemoryFinding {
    let help = "fix the file, or move it out of the directory; until then, it is not recalled";
    finding(Severity::Error, "unreadable", file.path, file.why, help)
}
