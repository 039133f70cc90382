//! Finds problems in the index.

use std::collections::HashSet;

use super::finding::{Directory, MemoryFinding, Severity, at, finding};
use super::known::{KnownTopics, LinkTarget};
use crate::index::{IndexLine, IndexWarning, LINE_CHARS, Link, is_teams, lines, warnings};
use crate::name::{INDEX, Name, Scope};
use crate::unseen;

pub(super) fn lint(
    directory: &Directory<'_>,
    known: &KnownTopics<'_>,
    out: &mut Vec<MemoryFinding>,
) {
    let Some(text) = directory.index else {
        if !known.topics.is_empty() {
            out.push(missing(known.topics.len()));
        }
        return;
    };
    out.extend(warnings(text).into_iter().map(too_much));
    let lines = lines(text);
    let mut reached = HashSet::new();
    for line in &lines {
        for link in &line.links {
            match known.find(link) {
                LinkTarget::Topic(at) => {
                    reached.insert(at);
                }
                LinkTarget::Nearly(at) => {
                    reached.insert(at);
                    out.push(nearly(line, link, known.topics[at].0));
                }
                LinkTarget::Nothing => out.extend(dead(directory.scope, line, link)),
            }
        }
    }
    if reached.is_empty() && !known.topics.is_empty() {
        out.push(nowhere(known.topics.len()));
    } else {
        let missing = (0..known.topics.len()).filter(|topic| !reached.contains(topic));
        out.extend(missing.map(|topic| unlisted(known.topics[topic].0)));
    }
    out.extend(hidden(INDEX, text));
}

/// Reports the first invisible character, and how many there are.
pub(super) fn hidden(file: &str, text: &str) -> Option<MemoryFinding> {
    let found = unseen::find(text);
    let first = found.first()?;
    let more = match found.len() {
        1 => String::new(),
        count => format!(", the first of {count} invisible characters"),
    };
    let what = format!("has {} (U+{:04X}){more}", first.name(), first.code as u32);
    let help = "find out who added it, and remove it; models see the text without it";
    Some(at(first.line, finding(Severity::Error, "unseen-character", file, what, help)))
}

fn missing(topics: usize) -> MemoryFinding {
    let what = format!("is missing; topics in the directory: {topics}");
    finding(Severity::Error, "no-index", INDEX, what, "run `bethink memory rebuild`")
}

fn nowhere(topics: usize) -> MemoryFinding {
    let what = format!("links to no topic; topics in the directory: {topics}");
    let help = "run `bethink memory rebuild`, which keeps other text in the file";
    finding(Severity::Error, "index-links-nowhere", INDEX, what, help)
}

fn too_much(warning: IndexWarning) -> MemoryFinding {
    let text = warning.to_string();
    let what = text.strip_prefix("MEMORY.md ").unwrap_or(&text);
    match warning {
        IndexWarning::LongLine { line, chars } => {
            let what = format!("has {chars} characters, more than {LINE_CHARS}");
            let help = "shorten the line, and move details to the topic";
            at(line, finding(Severity::Note, "long-line", INDEX, what, help))
        }
        IndexWarning::TooManyLines { .. } => {
            let help =
                "put the most important entries first, and merge topics that belong together";
            finding(Severity::Warning, "too-many-lines", INDEX, what, help)
        }
        IndexWarning::TooManyBytes { .. } => {
            let help = "shorten the lines, or merge topics that belong together";
            finding(Severity::Warning, "too-many-bytes", INDEX, what, help)
        }
    }
}

/// Reports a link to a topic that does not exist. Links to team topics are checked when the team's memory is checked.
fn dead(scope: Scope, line: &IndexLine<'_>, link: &Link) -> Option<MemoryFinding> {
    let name = link.topic().filter(|name| scope == Scope::Team || !is_teams(name))?;
    let what = format!("links to {}, which does not exist", name.file());
    let help = "fix the link, or run `bethink memory rebuild` to drop the line";
    Some(at(line.number, finding(Severity::Warning, "dead-link", INDEX, what, help)))
}

fn nearly(line: &IndexLine<'_>, link: &Link, name: &Name) -> MemoryFinding {
    let linked = link.topic().map(Name::file).unwrap_or_default();
    let what = format!("links to {linked}, but the file is named {}", name.file());
    let help = "use the file's exact name in the link; some systems cannot find the file otherwise";
    at(line.number, finding(Severity::Warning, "misspelt-link", INDEX, what, help))
}

fn unlisted(name: &Name) -> MemoryFinding {
    let what = "is not in MEMORY.md, so prompts do not mention it";
    let help = "add a line for it, or run `bethink memory rebuild`";
    finding(Severity::Warning, "not-in-index", name.file(), what, help)
}
