//! What is wrong with the index.

use std::collections::HashSet;

use super::known::{Found, Known};
use super::{Directory, Finding, Severity};
use crate::index::{LINE_CHARS, Line, Link, Warning, is_teams, lines, warnings};
use crate::name::{INDEX, Name, Scope};
use crate::unseen;

pub(super) fn lint(directory: &Directory<'_>, known: &Known<'_>, out: &mut Vec<Finding>) {
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
                Found::Topic(at) => {
                    reached.insert(at);
                }
                Found::Nearly(at) => {
                    reached.insert(at);
                    out.push(nearly(line, link, known.topics[at].0));
                }
                Found::Nothing => out.extend(dead(directory.scope, line, link)),
            }
        }
    }
    if reached.is_empty() && !known.topics.is_empty() {
        out.push(nowhere(known.topics.len()));
    } else {
        let missing = (0..known.topics.len()).filter(|at| !reached.contains(at));
        out.extend(missing.map(|at| unlisted(known.topics[at].0)));
    }
    out.extend(hidden(INDEX, text));
}

/// Characters that nobody sees: the first of them, and how many.
pub(super) fn hidden(file: &str, text: &str) -> Option<Finding> {
    let found = unseen::find(text);
    let first = found.first()?;
    let more = match found.len() {
        1 => String::new(),
        count => format!(", and {} more such characters follow", count - 1),
    };
    Some(Finding {
        severity: Severity::Error,
        rule: "unseen-character",
        file: file.to_owned(),
        line: Some(first.line),
        what: format!("has {} (U+{:04X}){more}", first.name(), first.code as u32),
        help: "find out who wrote it, and remove it; models are shown the text without it"
            .to_owned(),
    })
}

fn finding(severity: Severity, rule: &'static str, line: Option<usize>) -> Finding {
    let (what, help) = (String::new(), String::new());
    Finding { severity, rule, file: INDEX.to_owned(), line, what, help }
}

fn missing(topics: usize) -> Finding {
    Finding {
        what: format!("there is no MEMORY.md, and {topics} topics that it should name"),
        help: "run `bethink memory rebuild`".to_owned(),
        ..finding(Severity::Error, "no-index", None)
    }
}

fn nowhere(topics: usize) -> Finding {
    Finding {
        what: format!("links none of the {topics} topics"),
        help: "run `bethink memory rebuild`, which keeps its prose".to_owned(),
        ..finding(Severity::Error, "index-links-nowhere", None)
    }
}

fn too_much(warning: Warning) -> Finding {
    let told = warning.to_string();
    let what = told.strip_prefix("MEMORY.md ").unwrap_or(&told).to_owned();
    match warning {
        Warning::LongLine { line, chars } => Finding {
            what: format!("has {chars} characters, more than {LINE_CHARS}"),
            help: "keep the line short, and the detail in the topic".to_owned(),
            ..finding(Severity::Note, "long-line", Some(line))
        },
        Warning::TooManyLines { .. } => Finding {
            what,
            help: "put the entries that matter first, and merge topics that belong together"
                .to_owned(),
            ..finding(Severity::Warning, "too-many-lines", None)
        },
        Warning::TooManyBytes { .. } => Finding {
            what,
            help: "shorten the lines, or merge topics that belong together".to_owned(),
            ..finding(Severity::Warning, "too-many-bytes", None)
        },
    }
}

/// A link into the team's directory is the team's matter.
fn dead(scope: Scope, line: &Line<'_>, link: &Link) -> Option<Finding> {
    let name = link.topic()?;
    if scope == Scope::Private && is_teams(name) {
        return None;
    }
    Some(Finding {
        what: format!("links {}, which is not there", name.file()),
        help: "mend the link, or run `bethink memory rebuild` to drop the line".to_owned(),
        ..finding(Severity::Warning, "dead-link", Some(line.number))
    })
}

fn nearly(line: &Line<'_>, link: &Link, name: &Name) -> Finding {
    let linked = link.topic().map(Name::file).unwrap_or_default();
    Finding {
        what: format!("links {linked}, and the file is called {}", name.file()),
        help: "write the link as the file is called: not every system finds it otherwise"
            .to_owned(),
        ..finding(Severity::Warning, "misspelt-link", Some(line.number))
    }
}

fn unlisted(name: &Name) -> Finding {
    Finding {
        file: name.file(),
        what: "is not in MEMORY.md, so a prompt does not tell of it".to_owned(),
        help: "add a line for it, or run `bethink memory rebuild`".to_owned(),
        ..finding(Severity::Warning, "not-in-index", None)
    }
}
