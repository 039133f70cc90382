//! What is wrong with a memory directory, and what to do about it. Nothing is mended here: files belong to
//! their people.

mod alike;
mod finding;
mod index;
mod known;
#[cfg(test)]
mod tests;
mod topics;

pub use finding::{Directory, LintFinding, Severity, StrangeFile, TopicFile};

/// All findings: the gravest first, then by file and line.
pub fn lint(directory: &Directory<'_>) -> Vec<LintFinding> {
    let known = known::KnownTopics::of(directory.topics);
    let mut out = Vec::new();
    index::lint(directory, &known, &mut out);
    topics::lint(directory, &known, &mut out);
    alike::lint(&known, &mut out);
    out.extend(directory.strange.iter().map(strange));
    out.sort_by(|a, b| {
        let key = |finding: &LintFinding| (finding.severity, finding.file.clone(), finding.line);
        key(a).cmp(&key(b))
    });
    out
}

fn strange(file: &StrangeFile<'_>) -> LintFinding {
    let help = "it is not recalled: fix it, or move it out of the directory";
    LintFinding::new(Severity::Error, "unreadable", file.path, file.why, help)
}
