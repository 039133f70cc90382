//! Adds and removes lines of an index. All other bytes stay the same.

use std::collections::HashSet;

use super::lines::{IndexEntry, IndexLine, each_line, entries};
use super::links::Link;
use super::style::{ListStyle, line_end};
use crate::header;
use crate::name::{Name, TEAM, fold};

/// The content of a topic's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicLine<'a> {
    pub name: &'a Name,
    pub title: &'a str,
    pub description: &'a str,
}

/// A topic's title and description, as its line in the index gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicWords {
    pub name: Name,
    pub title: String,
    pub description: String,
}

impl TopicWords {
    /// Reads them from the topic's text.
    pub fn of(name: &Name, text: &str) -> Self {
        let topic = header::read(text);
        let (title, description) = (name.titled(&topic.header), topic.header.described(topic.body));
        Self { name: name.clone(), title, description }
    }

    pub fn line(&self) -> TopicLine<'_> {
        let Self { name, title, description } = self;
        TopicLine { name, title, description }
    }
}

/// Adds a line at the end of the list, in the list's style. A topic that the index already links to is not added again.
pub fn add(text: &str, name: &Name, title: &str, description: &str) -> String {
    if linked(text).contains(&name.folded()) {
        return text.to_owned();
    }
    append(text, &[TopicLine { name, title, description }])
}

/// Removes the entries of a topic. Prose that mentions the topic stays.
pub fn remove(text: &str, name: &Name) -> String {
    remove_all(text, [name])
}

/// Like [`remove`], for several topics.
pub fn remove_all<'a>(text: &str, names: impl IntoIterator<Item = &'a Name>) -> String {
    let names: HashSet<String> = names.into_iter().map(Name::folded).collect();
    if names.is_empty() {
        return text.to_owned();
    }
    without(text, |entry| names.contains(&entry.name.folded()))
}

/// Moves entries to the end, each with a note at the end of its first line. `note` returns `None` for an entry that stays.
pub fn moved_last(text: &str, note: impl Fn(&Name) -> Option<String>) -> String {
    let mut moved = String::new();
    for entry in entries(text) {
        let Some(note) = note(&entry.name) else { continue };
        let (first, rest) = entry.text.split_at(entry.first.text.len());
        moved.push_str(&format!("{first} ({note}){}", rest.trim_end_matches(['\r', '\n'])));
        moved.push_str(line_end(text));
    }
    if moved.is_empty() {
        return text.to_owned();
    }
    let kept = without(text, |entry| note(&entry.name).is_some());
    let gap = if kept.is_empty() || kept.ends_with('\n') { "" } else { line_end(text) };
    format!("{kept}{gap}{moved}")
}

/// Updates an index to match the existing topics: prose and valid entries stay, entries whose topics no longer exist
/// are removed, and missing topics are added. Team topics are left out, because the team has its own index.
pub fn rebuild(old: &str, topics: &[TopicLine<'_>]) -> String {
    let names: HashSet<String> = topics.iter().map(|row| row.name.folded()).collect();
    let titles: HashSet<String> = topics.iter().map(|row| fold(row.title)).collect();
    let lives = |link: &Link, name: &Name| {
        let folded = name.folded();
        names.contains(&folded) || link.wiki && titles.contains(&folded) || is_teams(name)
    };
    let dead = |entry: &IndexEntry<'_>| {
        let mut links = entry.first.links.iter();
        !links.any(|link| link.topic().is_some_and(|name| lives(link, name)))
    };
    let kept = without(old, dead);
    let known = linked(&kept);
    let listed = |row: &&TopicLine<'_>| {
        known.contains(&row.name.folded()) || known.contains(&format!("[[{}", fold(row.title)))
    };
    let missing: Vec<TopicLine<'_>> = topics.iter().filter(|row| !listed(row)).copied().collect();
    append(&kept, &missing)
}

/// Whether the name is that of a team topic, relative to the private directory.
pub(crate) fn is_teams(name: &Name) -> bool {
    name.as_str().split_once('/').is_some_and(|(folder, _)| folder == TEAM)
}

/// Returns the folded names of all topics that the text links to. A wikilink's target is also returned with `[[` in
/// front, because it may be a topic's title instead of its name.
fn linked(text: &str) -> HashSet<String> {
    let mut out = HashSet::new();
    for link in each_line(text).flat_map(|line| line.links) {
        let Some(name) = link.topic() else { continue };
        let folded = name.folded();
        if link.wiki {
            out.insert(format!("[[{folded}"));
        }
        out.insert(folded);
    }
    out
}

pub(super) fn without(text: &str, gone: impl Fn(&IndexEntry<'_>) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for entry in entries(text).iter().filter(|entry| gone(entry)) {
        out.push_str(&text[at..entry.range.start]);
        at = entry.range.end;
    }
    out.push_str(&text[at..]);
    out
}

fn append(text: &str, rows: &[TopicLine<'_>]) -> String {
    if rows.is_empty() {
        return text.to_owned();
    }
    let place = InsertPoint::of(text);
    let mut new = String::new();
    let mut style = ListStyle::of(text, place.after.as_ref());
    for row in rows {
        let line = style.line(row.name, row.title, row.description);
        // Use the style of the line before, so that a numbered list continues.
        style = ListStyle::of(text, entries(&line).first());
        new.push_str(&line);
    }
    place.put(text, &new)
}

pub(super) struct InsertPoint<'a> {
    /// The last entry of the list that new lines are added to.
    pub(super) after: Option<IndexEntry<'a>>,
    at: usize,
}

impl<'a> InsertPoint<'a> {
    /// Finds the place after the outermost list's last entry and its nested lines, or at the end.
    pub(super) fn of(text: &'a str) -> Self {
        let entries = entries(text);
        let outer = entries.iter().map(|entry| entry.first.indent).min();
        let last = entries.into_iter().rfind(|entry| Some(entry.first.indent) == outer);
        match last {
            Some(entry) => Self { at: nested_end(text, &entry), after: Some(entry) },
            None => Self { at: text.len(), after: None },
        }
    }

    /// Inserts new lines. A line break or a blank line is put before them if the line before has no line ending or is
    /// not part of a list.
    pub(super) fn put(&self, text: &str, new: &str) -> String {
        let (before, after) = text.split_at(self.at);
        let end = line_end(text);
        let mut gap = String::new();
        if !before.is_empty() && !before.ends_with('\n') {
            gap.push_str(end);
        }
        let last = before.lines().next_back().unwrap_or_default();
        if self.after.is_none() && !last.trim_matches(['\u{feff}', ' ', '\t']).is_empty() {
            gap.push_str(end);
        }
        [before, &gap, new, after].concat()
    }
}

fn nested_end(text: &str, entry: &IndexEntry<'_>) -> usize {
    let inside =
        |line: &IndexLine<'_>| line.indent > entry.first.indent && !line.text.trim().is_empty();
    let after = each_line(text).skip_while(|line| line.range.start < entry.range.end);
    after.take_while(inside).last().map_or(entry.range.end, |line| line.range.end)
}
