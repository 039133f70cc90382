//! Finds problems in topics, and names that collide.

use std::collections::HashMap;

use super::finding::{Directory, MemoryFinding, Severity, at, finding};
use super::index::hidden;
use super::known::{KnownTopics, LinkTarget};
use crate::conflict;
use crate::header::TopicText;
use crate::index::{Link, is_teams, lines};
use crate::name::{Name, Scope};

/// Maximum number of dead links that are reported per topic.
const MOST_LINKS: usize = 3;

pub(super) fn lint(
    directory: &Directory<'_>,
    known: &KnownTopics<'_>,
    out: &mut Vec<MemoryFinding>,
) {
    for entry in &known.topics {
        let (name, text, topic) = entry;
        out.extend(hidden(&name.file(), text));
        if text.trim_matches(['\u{feff}', ' ', '\n', '\r', '\t']).is_empty() {
            out.push(empty(name, "is empty"));
            continue;
        }
        if topic.body.trim().is_empty() {
            out.push(empty(name, "has only front matter"));
        }
        if conflict::has_markers(text) {
            let what = "contains git's conflict markers";
            let help = "choose one version of the text, and remove the markers";
            out.push(finding(Severity::Error, "conflict-markers", name.file(), what, help));
        }
        out.extend(conflict::topic_of(name).map(|topic| version(directory.scope, name, &topic)));
        header(name, topic, out);
        wikilinks(directory.scope, known, entry, out);
    }
    twins(known, out);
}

fn version(scope: Scope, name: &Name, topic: &Name) -> MemoryFinding {
    let (who, help) = match scope {
        Scope::Team => (
            "two people changed it",
            format!("choose a version: run `bethink team resolve {topic}`"),
        ),
        Scope::Private | Scope::Person => (
            "it was changed on two machines",
            format!("merge it into {}, and then run `bethink memory rm {name}`", topic.file()),
        ),
    };
    let what = format!("is another version of {}: {who}", topic.file());
    finding(Severity::Warning, "conflict", name.file(), what, &help)
}

fn empty(name: &Name, what: &str) -> MemoryFinding {
    let help = "write the memory, or remove the file";
    finding(Severity::Warning, "empty", name.file(), what, help)
}

fn header(name: &Name, topic: &TopicText<'_>, out: &mut Vec<MemoryFinding>) {
    let header = &topic.header;
    let is_of_type = |fault: &String| fault.contains("is not a memory type");
    for fault in &header.faults {
        let (rule, help) = match fault {
            fault if is_of_type(fault) => ("unknown-type", "fix `type:` in its front matter"),
            fault if fault.contains("is not a value of `recall`") => {
                ("unknown-recall", "fix `recall:` in its front matter: always or never")
            }
            fault if fault.contains("is not valid YAML") => (
                "broken-header",
                "fix the front matter by hand; often a value contains a colon and needs quotes",
            ),
            _ => ("broken-header", "fix the front matter by hand"),
        };
        out.push(finding(Severity::Warning, rule, name.file(), fault, help));
    }
    if header.description.is_none() {
        let (rule, what) = ("no-description", "has no description");
        let help = "add to the front matter a one-line `description:` that says when the topic is relevant: \
                    recall uses it to choose topics";
        out.push(finding(Severity::Warning, rule, name.file(), what, help));
    }
    if header.kind.is_none() && !header.faults.iter().any(is_of_type) {
        let help = "add `type:` to its front matter: user, feedback, project or reference";
        out.push(finding(Severity::Note, "no-type", name.file(), "has no type", help));
    }
}

fn wikilinks(
    scope: Scope,
    known: &KnownTopics<'_>,
    (name, text, topic): &(&Name, &str, TopicText<'_>),
    out: &mut Vec<MemoryFinding>,
) {
    let lines_before = text[..text.len() - topic.body.len()].matches('\n').count();
    let dead = |link: &Link| {
        let teams = scope == Scope::Private && link.topic().is_some_and(is_teams);
        link.wiki && is_plain(link) && !teams && known.find(link) == LinkTarget::Nothing
    };
    let lines = lines(topic.body);
    let links =
        lines.iter().flat_map(|line| line.links.iter().map(move |link| (line.number, link)));
    let found = links.filter(|(_, link)| dead(link)).take(MOST_LINKS);
    out.extend(found.map(|(line, link)| {
        let what = format!("links to [[{}]], but that topic does not exist", link.title);
        let help = "fix the link, or write that topic";
        let finding = finding(Severity::Note, "dead-wikilink", name.file(), what, help);
        at(lines_before + line, finding)
    }));
}

/// Shell syntax such as `[[ -f x ]]` is not a link.
fn is_plain(link: &Link) -> bool {
    let name = link.topic().map(Name::as_str).unwrap_or_default();
    name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ' '))
        && name.starts_with(char::is_alphanumeric)
}

/// Reports names that are the same on some systems.
fn twins(known: &KnownTopics<'_>, out: &mut Vec<MemoryFinding>) {
    let mut seen: HashMap<String, &Name> = HashMap::new();
    for (name, _, _) in &known.topics {
        let Some(first) = seen.get(&name.folded()) else {
            seen.insert(name.folded(), name);
            continue;
        };
        let what = format!(
            "has the same name as {} on systems that ignore case or normalize Unicode",
            first.file()
        );
        let help =
            "merge the two topics, or rename one: if both are copied to such a system, one is lost";
        out.push(finding(Severity::Error, "twin-name", name.file(), what, help));
    }
}
