//! Collects known keys from a tree of any shape: at the top or under `metadata:`, in any case, under the names that
//! tools use.

use super::yaml::YamlNode;
use super::{Header, MOST_QUESTIONS, MemoryKind, MemoryRecall, Source, VALUE_CHARS, questions};

/// A key and its other names, best first.
pub(super) type Names = &'static [&'static str];

pub(super) const NAME: Names = &["name", "title"];
pub(super) const DESCRIPTION: Names = &["description", "summary"];
pub(super) const KIND: Names = &["type", "kind"];
pub(super) const MODIFIED: Names = &["modified", "updated", "last_modified", "updated_at"];
pub(super) const SOURCE: Names = &["source"];
pub(super) const QUESTIONS: Names = &["questions"];
pub(super) const RECALL: Names = &["recall"];
/// Claude Code writes the session's id as a separate key.
const SESSION: Names = &["originsessionid"];
/// The key under which tools nest the other keys.
pub(super) const NEST: &str = "metadata";

/// Whether any key is known. A map without known keys is not a header.
pub(super) fn is_header(root: &YamlNode) -> bool {
    [NAME, DESCRIPTION, KIND, MODIFIED, SOURCE, QUESTIONS, RECALL, SESSION]
        .into_iter()
        .any(|names| look(root, names).is_some())
        || root.entries().iter().any(|(key, _)| same(key, NEST))
}

pub(super) fn gather(root: &YamlNode) -> Header {
    let mut faults = Vec::new();
    Header {
        name: value(root, NAME, &mut faults),
        description: value(root, DESCRIPTION, &mut faults),
        modified: value(root, MODIFIED, &mut faults),
        kind: kind(root, &mut faults),
        source: source(root),
        questions: answered(root, &mut faults),
        recall: recall(root, &mut faults),
        faults,
    }
}

/// Whether a key in a file means this field.
pub(super) fn same(key: &str, name: &str) -> bool {
    key.trim().replace(['-', ' '], "_").eq_ignore_ascii_case(name)
}

/// Returns the first entry with the first name that exists, either at the top or nested.
fn look(root: &YamlNode, names: Names) -> Option<&YamlNode> {
    let nested = root.entries().iter().filter(|(key, _)| same(key, NEST)).map(|(_, node)| node);
    std::iter::once(root).chain(nested).find_map(|map| {
        names.iter().find_map(|name| {
            let held =
                |(key, node): &&(String, YamlNode)| same(key, name) && *node != YamlNode::Nothing;
            map.entries().iter().find(held).map(|(_, node)| node)
        })
    })
}

fn value(root: &YamlNode, names: Names, faults: &mut Vec<String>) -> Option<String> {
    let node = look(root, names)?;
    let Some(text) = node.text() else {
        faults.push(format!("`{}` is not text", names[0]));
        return None;
    };
    match text.char_indices().nth(VALUE_CHARS) {
        None => Some(text),
        Some((end, _)) => {
            faults.push(format!("`{}` is longer than {VALUE_CHARS} characters", names[0]));
            Some(text[..end].trim_end().to_owned())
        }
    }
}

/// Returns the type, or the first type in a list.
fn kind(root: &YamlNode, faults: &mut Vec<String>) -> Option<MemoryKind> {
    let first = look(root, KIND)?.texts().into_iter().next()?;
    first.parse().map_err(|unknown: super::UnknownKind| faults.push(unknown.to_string())).ok()
}

fn recall(root: &YamlNode, faults: &mut Vec<String>) -> Option<MemoryRecall> {
    let text = value(root, RECALL, faults)?;
    text.parse().map_err(|unknown: super::UnknownRecall| faults.push(unknown.to_string())).ok()
}

/// Returns the questions that the topic answers.
fn answered(root: &YamlNode, faults: &mut Vec<String>) -> Vec<String> {
    let all = look(root, QUESTIONS).map(YamlNode::texts).unwrap_or_default();
    if all.len() > MOST_QUESTIONS {
        let count = all.len();
        faults.push(format!("`questions` has {count} entries; only {MOST_QUESTIONS} are used"));
    }
    questions(&all)
}

/// Returns the source. A source in plain text, such as a URL, was written by a person and is ignored.
fn source(root: &YamlNode) -> Option<Source> {
    let node = look(root, SOURCE).filter(|node| !node.entries().is_empty());
    let text = |key: &'static str| {
        let entries = node?.entries();
        entries.iter().find(|(found, _)| same(found, key)).map(|(_, node)| node)
    };
    let line = |key| text(key).and_then(YamlNode::text).unwrap_or_default();
    match node {
        Some(_) => {
            let source = Source {
                session: line("session"),
                messages: text("messages").map(YamlNode::texts).unwrap_or_default(),
                strategy: line("strategy"),
                time: line("time"),
                branch: line("branch"),
                commit: line("commit"),
            };
            // A source without any known part would be written as an empty one, and not be read again.
            Some(source).filter(|source| *source != Source::default())
        }
        None => look(root, SESSION)?.text().map(|session| Source { session, ..Source::default() }),
    }
}
