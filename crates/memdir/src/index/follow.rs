//! Updates index lines when titles or descriptions of topics change. Lines that a person has reworded are not changed.

use std::collections::HashMap;
use std::ops::Range;

use super::LINE_CHARS;
use super::edit::TopicLine;
use super::lines::{IndexEntry, entries};
use super::style::{DASH, apart, cut, dash, one_line, title_of};

/// A topic's title and description before and after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineChange<'a> {
    pub old: TopicLine<'a>,
    pub new: TopicLine<'a>,
}

/// Updates the lines of topics whose titles or descriptions changed. Parts of a line that differ from the old title or
/// description are not changed. If a topic has several changes, the first change that matches the topic's line is
/// applied.
pub fn follow(text: &str, changes: &[LineChange<'_>]) -> String {
    let mut by_name: HashMap<String, Vec<ReadChange<'_>>> = HashMap::new();
    for change in changes {
        by_name.entry(change.new.name.folded()).or_default().push(ReadChange::of(change));
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for entry in entries(text) {
        let Some(changes) = by_name.get(&entry.name.folded()) else { continue };
        let changed = changes.iter().find_map(|change| followed(&entry, change));
        if let Some((range, words)) = changed {
            out.push_str(&text[at..entry.range.start + range.start]);
            out.push_str(&words);
            at = entry.range.start + range.end;
        }
    }
    out.push_str(&text[at..]);
    out
}

/// Returns the topics whose lines no longer match their titles and descriptions.
pub fn differing<'a>(text: &str, topics: &'a [TopicLine<'a>]) -> Vec<&'a TopicLine<'a>> {
    let entries = entries(text);
    let by_name: HashMap<String, &IndexEntry<'_>> =
        entries.iter().map(|entry| (entry.name.folded(), entry)).collect();
    let differs = |topic: &&TopicLine<'_>| {
        by_name.get(&topic.name.folded()).is_some_and(|entry| {
            let Some(line) = EntryWords::of(entry) else { return false };
            let (title, description) = apart(topic.title, topic.description);
            !line.has_title(&title, topic) || !line.has_description(&description)
        })
    };
    topics.iter().filter(differs).collect()
}

/// A change, with titles and descriptions in the form that index lines have.
struct ReadChange<'a> {
    change: &'a LineChange<'a>,
    old: (String, String),
    new: (String, String),
    /// The new description, even if it is the same as the title.
    described: String,
}

impl<'a> ReadChange<'a> {
    fn of(change: &'a LineChange<'a>) -> Self {
        let LineChange { old, new } = change;
        let described = one_line(new.description);
        let (old, new) = (apart(old.title, old.description), apart(new.title, new.description));
        Self { change, old, new, described }
    }
}

/// Returns the part of an entry to replace, and its new text.
fn followed(entry: &IndexEntry<'_>, read: &ReadChange<'_>) -> Option<(Range<usize>, String)> {
    let line = EntryWords::of(entry)?;
    let ReadChange { change: LineChange { old, new }, .. } = read;
    let (old_title, old_description) = &read.old;
    let is_whole = line.has_title(old_title, old) && line.has_description(old_description);
    let is_described = !line.words.is_empty() && line.has_description(old_description);
    if !is_whole && !is_described || read.new == read.old {
        return None;
    }
    let (title, description) = &read.new;
    let (link, description) = match is_whole && !line.wiki {
        true => (format!("[{}{}", title_of(title, new.name), line.target), description),
        // Without the title, the description is written even if it is the same.
        false => (line.link.to_owned(), &read.described),
    };
    let before = entry.text[..line.range.start].chars().count();
    let taken = before + link.chars().count() + line.dash.chars().count();
    let description = cut(description, LINE_CHARS.saturating_sub(taken));
    let dash = if description.is_empty() { "" } else { line.dash };
    Some((line.range, format!("{link}{dash}{description}")))
}

/// The parts of an entry.
struct EntryWords<'a> {
    /// Position of the link and everything after it, without trailing space.
    range: Range<usize>,
    link: &'a str,
    title: &'a str,
    /// The link after its title: `](fog.md)`.
    target: &'a str,
    wiki: bool,
    dash: &'a str,
    /// The words after the link, on one line.
    words: String,
}

impl<'a> EntryWords<'a> {
    fn of(entry: &IndexEntry<'a>) -> Option<Self> {
        let found = entry.first.links.iter().find(|link| link.topic().is_some())?;
        let (text, link) = (entry.text, &entry.text[found.range.clone()]);
        let rest = text[found.range.end..].trim_end();
        let own_dash = dash(rest);
        let title_end = if found.wiki { link.len() } else { link.rfind("](")? };
        Some(Self {
            range: found.range.start..found.range.end + rest.len(),
            title: link.get(1..title_end)?,
            target: &link[title_end..],
            wiki: found.wiki,
            dash: own_dash.unwrap_or(DASH),
            words: one_line(&rest[own_dash.map_or(0, str::len)..]),
            link,
        })
    }

    fn has_title(&self, title: &str, topic: &TopicLine<'_>) -> bool {
        self.wiki || self.title == title_of(title, topic.name)
    }

    /// Whether the words after the link are the description or a shortened form of it.
    fn has_description(&self, description: &str) -> bool {
        match self.words.strip_suffix('…') {
            Some(beginning) => description.starts_with(beginning.trim_end()),
            None => self.words == description,
        }
    }
}
