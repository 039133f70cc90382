//! The lines of a text that seem to contain a secret.

use std::collections::HashSet;

use bethink_memdir::Hash;
use bethink_secrets::{ScannedText, SecretFinding, scan};

/// Returns the index without the lines that seem to contain a secret.
pub(crate) fn without_secrets(index: &str) -> String {
    let findings = scan(&ScannedText { name: "", text: index });
    let hidden: HashSet<usize> = findings.iter().map(|finding| finding.line).collect();
    let lines = index.split_inclusive('\n').zip(1..);
    lines.filter(|(_, number)| !hidden.contains(number)).map(|(line, _)| line).collect()
}

/// Returns the rule and the line's hash of each finding in a topic's text.
pub(crate) fn secrets_in(text: &str) -> Vec<(String, String)> {
    let findings = scan(&ScannedText { name: "", text });
    findings.iter().map(|finding| key_of(text, finding)).collect()
}

pub(crate) fn key_of(text: &str, finding: &SecretFinding) -> (String, String) {
    (finding.rule.to_owned(), line_hash(text, finding))
}

pub(crate) fn line_hash(text: &str, finding: &SecretFinding) -> String {
    let line = text.lines().nth(finding.line.saturating_sub(1)).unwrap_or_default();
    Hash::of(line.trim().as_bytes()).to_string()
}
