//! What is wrong with topics, each by itself, and with their names.

use std::collections::HashMap;

use super::index::hidden;
use super::known::{Found, Known};
use super::{Directory, Finding, Severity};
use crate::header::Topic;
use crate::index::{Link, is_teams, lines};
use crate::name::{Name, Scope};

/// Links of one topic that are named; a page of dead ones is one finding too many.
const MOST_LINKS: usize = 3;

pub(super) fn lint(directory: &Directory<'_>, known: &Known<'_>, out: &mut Vec<Finding>) {
    for entry in &known.topics {
        let (name, text, topic) = entry;
        out.extend(hidden(&name.file(), text));
        if text.trim_matches(['\u{feff}', ' ', '\n', '\r', '\t']).is_empty() {
            out.push(empty(name, "is empty"));
            continue;
        }
        if topic.body.trim().is_empty() {
            out.push(empty(name, "has front matter and nothing else"));
        }
        header(name, topic, out);
        wikilinks(directory.scope, known, entry, out);
    }
    twins(known, out);
}

fn finding(severity: Severity, rule: &'static str, name: &Name) -> Finding {
    let (what, help) = (String::new(), String::new());
    Finding { severity, rule, file: name.file(), line: None, what, help }
}

fn empty(name: &Name, what: &str) -> Finding {
    Finding {
        what: what.to_owned(),
        help: "write what is to be remembered, or remove the file".to_owned(),
        ..finding(Severity::Warning, "empty", name)
    }
}

fn header(name: &Name, topic: &Topic<'_>, out: &mut Vec<Finding>) {
    let header = &topic.header;
    for fault in &header.faults {
        let (rule, help) = match fault.contains("no type of memory") {
            true => ("unknown-type", "mend `type:` in its front matter"),
            false => (
                "broken-header",
                "mend it by hand; most often a value holds a colon and wants quotes",
            ),
        };
        out.push(Finding {
            what: fault.clone(),
            help: help.to_owned(),
            ..finding(Severity::Warning, rule, name)
        });
    }
    if header.description.is_none() {
        out.push(Finding {
            what: "has no description".to_owned(),
            help: "add `description:` to its front matter, one line on when it matters: recall \
                   chooses by it"
                .to_owned(),
            ..finding(Severity::Warning, "no-description", name)
        });
    }
    if header.kind.is_none()
        && !header.faults.iter().any(|fault| fault.contains("no type of memory"))
    {
        out.push(Finding {
            what: "has no type".to_owned(),
            help: "add `type:` to its front matter: user, feedback, project or reference"
                .to_owned(),
            ..finding(Severity::Note, "no-type", name)
        });
    }
}

fn wikilinks(
    scope: Scope,
    known: &Known<'_>,
    (name, text, topic): &(&Name, &str, Topic<'_>),
    out: &mut Vec<Finding>,
) {
    let lines_before = text[..text.len() - topic.body.len()].matches('\n').count();
    let dead = |link: &Link| {
        let teams = scope == Scope::Private && link.topic().is_some_and(is_teams);
        link.wiki && is_plain(link) && !teams && known.find(link) == Found::Nothing
    };
    let lines = lines(topic.body);
    let links =
        lines.iter().flat_map(|line| line.links.iter().map(move |link| (line.number, link)));
    let found = links.filter(|(_, link)| dead(link)).take(MOST_LINKS);
    out.extend(found.map(|(line, link)| Finding {
        line: Some(lines_before + line),
        what: format!("links [[{}]], and no topic is called so", link.title),
        help: "mend the link, or write that topic".to_owned(),
        ..finding(Severity::Note, "dead-wikilink", name)
    }));
}

/// `[[ -f x ]]` is a shell's, and no link.
fn is_plain(link: &Link) -> bool {
    let name = link.topic().map(Name::as_str).unwrap_or_default();
    name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ' '))
        && name.starts_with(char::is_alphanumeric)
}

/// Names that some system takes for one.
fn twins(known: &Known<'_>, out: &mut Vec<Finding>) {
    let mut seen: HashMap<String, &Name> = HashMap::new();
    for (name, _, _) in &known.topics {
        if let Some(first) = seen.get(&name.folded()) {
            out.push(Finding {
                what: format!("is called as {} to systems that fold names", first.file()),
                help: "merge the two, or rename one: a copy to such a system loses one of them"
                    .to_owned(),
                ..finding(Severity::Error, "twin-name", name)
            });
            continue;
        }
        seen.insert(name.folded(), name);
    }
}
