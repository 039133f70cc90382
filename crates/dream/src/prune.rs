//! The last phase: removes empty topics, and updates the index.

use std::collections::BTreeSet;

use bethink_memdir::index::{self, LineChange, TopicLine};
use bethink_memdir::{DirectoryFile, Name, header};
use bethink_transcript::UnixMicros;

use crate::bench::{DreamBench, TopicState, quoted};
use crate::limits::{EMPTY_MICROS, INDEX_LINE_CHARS, MANY_DEAD};
use crate::links::linked;
use crate::plan::Phase;

pub(crate) fn prune(bench: &mut DreamBench, now: UnixMicros) {
    bench.phase = Phase::Prune;
    drop_empty(bench, now);
    if bench.index_put_back {
        return bench.note("a person restored the index, so it is left as it is".to_owned());
    }
    follow_descriptions(bench);
    update_entries(bench);
    shorten(bench);
}

fn drop_empty(bench: &mut DreamBench, now: UnixMicros) {
    let linked = linked(bench);
    for name in bench.names() {
        let Some(page) = bench.pages().get(&name) else { continue };
        let says_nothing =
            page.body().trim().is_empty() && page.header == header::Header::default();
        let old = now.0.saturating_sub(page.modified.0) >= EMPTY_MICROS;
        if says_nothing && old && !page.put_back && !linked.contains(&name) {
            bench.remove(&name, "removed an empty topic", "it has been empty for a day");
        }
    }
}

/// Updates the index lines of topics whose titles or descriptions changed.
fn follow_descriptions(bench: &mut DreamBench) {
    let Some(text) = bench.index() else { return };
    let words = |name: &Name, text: &str| {
        let topic = header::read(text);
        (name.titled(&topic.header), topic.header.described(topic.body))
    };
    let changed = bench.pages().iter().filter_map(|(name, page)| {
        let found = bench.found.get(name).filter(|found| **found != page.text)?;
        Some((name, words(name, found), words(name, &page.text)))
    });
    let changed: Vec<_> = changed.collect();
    let line = |name, words| {
        let (title, description): &(String, String) = words;
        TopicLine { name, title, description }
    };
    let changes: Vec<LineChange<'_>> = changed
        .iter()
        .map(|(name, old, new)| LineChange { old: line(name, old), new: line(name, new) })
        .collect();
    let text = index::follow(text, &changes);
    bench.write_index(text, "updated descriptions", "the descriptions of topics changed");
}

/// Removes dead links from the index, and adds missing topics.
fn update_entries(bench: &mut DreamBench) {
    if bench.pages().is_empty() && bench.index().is_none() {
        return;
    }
    let old = bench.index().unwrap_or_default().to_owned();
    let linked = linked_by(&old);
    let dead = linked.iter().filter(|name| is_dead(bench, name)).count();
    let links = index::entries(&old).len();
    let half_there = dead >= MANY_DEAD && dead >= bench.pages().len();
    if half_there {
        let text = format!(
            "{dead} of {links} index entries link to topics that do not exist. The entries are kept, because the directory \
            may be incomplete; to drop them, run `bethink memory rebuild`"
        );
        bench.note(text);
    }
    let kept: Vec<&Name> = linked
        .iter()
        .filter(|name| bench.unread.contains(name) || half_there && is_dead(bench, name))
        .collect();
    let new = rebuilt(bench, &old, &kept);
    for line in lines_only_in(&old, &new) {
        bench.dropped(
            DirectoryFile::Index.path(),
            line,
            "the topic that it links to does not exist",
        );
    }
    let (added, all) = (lines_only_in(&new, &old).count(), new.lines().count());
    let why = "entries of deleted topics are dropped, and missing topics are added";
    bench.write_index(new, &format!("new lines: {added} of {all}"), why);
}

fn rebuilt(bench: &DreamBench, old: &str, kept: &[&Name]) -> String {
    let rows: Vec<(&Name, String, String)> =
        bench.pages().iter().map(|(name, page)| row(name, page)).collect();
    let rows = rows.iter().map(|(name, title, description)| TopicLine { name, title, description });
    let kept = kept.iter().map(|name| TopicLine { name, title: "", description: "" });
    index::rebuild(old, &rows.chain(kept).collect::<Vec<_>>())
}

fn linked_by(text: &str) -> BTreeSet<Name> {
    let lines = index::lines(text);
    lines.iter().flat_map(|line| &line.links).filter_map(|link| link.topic().cloned()).collect()
}

/// Returns whether the link was already dead before this dream.
fn is_dead(bench: &DreamBench, name: &Name) -> bool {
    let team = name.as_str().split('/').next() == Some(bethink_memdir::name::TEAM);
    let there = bench.found.contains_key(name)
        || bench.pages().contains_key(name)
        || bench.unread.contains(name);
    !there && !team
}

/// Returns a topic's name, title and description for its index line, shortened to fit.
fn row<'a>(name: &'a Name, page: &TopicState) -> (&'a Name, String, String) {
    const MARKS: usize = 12;
    let title = page.header.name.clone().unwrap_or_else(|| name.to_string());
    let taken = title.chars().count() + name.file().chars().count() + MARKS;
    let room = INDEX_LINE_CHARS.saturating_sub(taken);
    let description =
        bethink_transcript::text::shorten_at_word(&page.header.described(page.body()), room);
    (name, title, description)
}

/// Returns the lines of `text` that `other` does not have.
fn lines_only_in<'a>(text: &'a str, other: &'a str) -> impl Iterator<Item = &'a str> {
    let known: BTreeSet<&str> = other.lines().collect();
    text.lines().filter(move |line| !known.contains(line))
}

/// Shortens long lines, the longest first: the lines of the daemon's own topics always, and those of a person's topics
/// only if a prompt cannot show the whole index.
fn shorten(bench: &mut DreamBench) {
    let Some(text) = bench.index().map(str::to_owned) else { return };
    let mut new = text.clone();
    for (name, long) in long_entries(bench, &text) {
        let Some(page) = bench.pages().get(&name) else { continue };
        if !page.is_own() && index::shown(&new).cut_by.is_none() {
            let text = format!(
                "the index line of {} has {long} characters; please shorten it to at most {INDEX_LINE_CHARS}",
                name.file()
            );
            bench.note(text);
            continue;
        }
        let description = page.header.described(page.body());
        new = with_entry(&new, &name, |entry| short_entry(entry, &description));
    }
    for (was, is) in text.lines().zip(new.lines()).filter(|(was, is)| was != is) {
        bench.dropped(DirectoryFile::Index.path(), was, &format!("shortened to: {}", quoted(is)));
    }
    bench.write_index(
        new,
        "shortened long lines to title and description",
        "the index is part of every prompt",
    );
    if let Some(warning) = bench.index().and_then(|text| index::shown(text).warning) {
        bench.note(warning);
    }
}

/// Returns entries that consist of a single line that is too long, longest first.
fn long_entries(bench: &DreamBench, text: &str) -> Vec<(Name, usize)> {
    let long = |entry: &index::IndexEntry<'_>| entry.text.trim_end().chars().count();
    let mut found: Vec<(Name, usize)> = index::entries(text)
        .iter()
        .filter(|entry| {
            entry.text.trim_end().lines().count() == 1 && long(entry) > INDEX_LINE_CHARS
        })
        .filter(|entry| bench.pages().contains_key(&entry.name))
        .map(|entry| (entry.name.clone(), long(entry)))
        .collect();
    found.sort_by_key(|(name, long)| (usize::MAX - long, name.clone()));
    found
}

/// Returns the line up to the end of its link, followed by the description; or the whole line if that would not be
/// shorter.
fn short_entry(entry: &str, description: &str) -> String {
    let lines = index::lines(entry);
    let Some(link) = lines.first().and_then(|line| line.links.first()) else {
        return entry.to_owned();
    };
    let (head, end) = (&entry[..link.range.end], &entry[entry.trim_end().len()..]);
    let room = INDEX_LINE_CHARS.saturating_sub(head.chars().count() + 5);
    let short = match description {
        "" => format!("{head}{end}"),
        words => {
            format!("{head} — {}{end}", bethink_transcript::text::shorten_at_word(words, room))
        }
    };
    if short.len() < entry.len() { short } else { entry.to_owned() }
}

/// Changes the text of a topic's entry.
fn with_entry(text: &str, name: &Name, change: impl Fn(&str) -> String) -> String {
    let entries = index::entries(text);
    let entry = entries.iter().find(|entry| entry.name == *name);
    let Some(range) = entry.map(|entry| entry.range.clone()) else { return text.to_owned() };
    [&text[..range.start], &change(&text[range.clone()]), &text[range.end..]].concat()
}
