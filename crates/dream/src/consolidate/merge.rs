//! Merges topics that say the same thing: one is removed, and its additional text and its source are added to the
//! other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bethink_memdir::header::{HeaderChange, MemoryRecall};
use bethink_memdir::{Name, Source};
use jiff::civil::Date;

use super::timeline::{LEARNED, TextContent};
use crate::bench::{DreamBench, TopicState, with_header};
use crate::limits::{MANY_ALIKE, SAME_SENTENCES};
use crate::links::linked;
use crate::text::{LineKind, blocks, said, sentences};
use bethink_statement::content;

/// Merges pairs of topics, each topic at most once. If a merged topic resembles a third one, the next round merges it.
pub(super) fn merge(bench: &mut DreamBench) {
    let leaves: BTreeMap<Name, Leaf> =
        bench.pages().iter().map(|(name, page)| (name.clone(), Leaf::of(page))).collect();
    let mut linked = linked(bench);
    let put_back = bench.pages().iter().filter(|(_, page)| page.put_back);
    linked.extend(put_back.map(|(name, _)| name.clone()));
    let mut gone: BTreeSet<Name> = BTreeSet::new();
    for (one, other) in alike(&leaves) {
        if gone.contains(&one) || gone.contains(&other) {
            continue;
        }
        match judge((&one, &leaves[&one]), (&other, &leaves[&other]), &linked) {
            MergeVerdict::Merge { kept, goes } => {
                join(bench, kept, goes);
                gone.extend([one.clone(), other.clone()]);
            }
            MergeVerdict::Similar => {
                let text = format!(
                    "{} and {} say nearly the same thing; merge them by hand if they belong together",
                    one.file(),
                    other.file()
                );
                bench.note(text);
            }
            MergeVerdict::Apart => {}
        }
    }
}

struct Leaf {
    own: bool,
    kind: Option<bethink_memdir::MemoryKind>,
    recall: Option<MemoryRecall>,
    learned: Option<Date>,
    bytes: usize,
    content: Arc<TextContent>,
}

impl Leaf {
    fn of(page: &TopicState) -> Self {
        let description = page.header.description.as_deref().unwrap_or_default();
        Self {
            own: page.is_own(),
            kind: page.header.kind,
            recall: page.header.recall,
            learned: page.learned(),
            bytes: page.text.len(),
            content: page.content().with_description(description),
        }
    }

    /// Returns whether `kept` says everything in this topic. A person's topic must have several sentences: a single shared
    /// sentence does not make it a copy.
    fn is_copied_in(&self, kept: &Leaf) -> bool {
        let (mine, theirs) = (&self.content, &kept.content);
        let enough = !mine.said.is_empty() && (self.own || mine.said.len() >= SAME_SENTENCES);
        enough && mine.said.is_subset(&theirs.said) && mine.words.is_subset(&theirs.words)
    }
}

enum MergeVerdict<'a> {
    Merge {
        kept: &'a Name,
        goes: &'a Name,
    },
    /// They say nearly the same thing, but must not be merged: a person wrote one of them, their types or their `recall` keys
    /// differ, or both are linked.
    Similar,
    Apart,
}

/// Decides which of two topics is removed, if any. A topic that another one links to is kept.
fn judge<'a>(
    one: (&'a Name, &Leaf),
    other: (&'a Name, &Leaf),
    linked: &BTreeSet<Name>,
) -> MergeVerdict<'a> {
    let (first, second) = if ranks_before(one, other) { (one, other) } else { (other, one) };
    let kinds = first.1.kind.zip(second.1.kind).is_none_or(|(one, other)| one == other);
    // A person who pinned or suppressed one of them decided about that topic.
    let kinds = kinds && first.1.recall == second.1.recall;
    let stays = |name: &Name| linked.contains(name);
    for (kept, goes) in [(first, second), (second, first)] {
        if kinds && goes.1.is_copied_in(kept.1) && !stays(goes.0) {
            return MergeVerdict::Merge { kept: kept.0, goes: goes.0 };
        }
    }
    let (one, other) = (&first.1.content, &second.1.content);
    if !one.resembles(other) || one.names != other.names {
        return MergeVerdict::Apart;
    }
    if !kinds || !first.1.own || !second.1.own || stays(second.0) && stays(first.0) {
        return MergeVerdict::Similar;
    }
    let (kept, goes) = if stays(second.0) { (second, first) } else { (first, second) };
    MergeVerdict::Merge { kept: kept.0, goes: goes.0 }
}

/// Returns whether to keep `one` rather than `other`: a person's topic, or else the older topic, or else the larger
/// one.
fn ranks_before(one: (&Name, &Leaf), other: (&Name, &Leaf)) -> bool {
    let key = |(name, leaf): (&Name, &Leaf)| {
        (leaf.own, leaf.learned, usize::MAX - leaf.bytes, name.clone())
    };
    key(one) < key(other)
}

/// Returns the pairs of topics worth comparing, sorted. A pair is worth comparing if both contain the rarest sentence of one
/// of them, as copies do, or if one contains one of the other's rarest words. If no word is rare, for example in thousands of
/// topics on one subject, some similar topics that are not copies are not compared.
fn alike(leaves: &BTreeMap<Name, Leaf>) -> Vec<(Name, Name)> {
    let (names, leaves): (Vec<&Name>, Vec<&Leaf>) = leaves.iter().unzip();
    let by_word = places(&leaves, |leaf| &leaf.content.words);
    let by_sentence = places(&leaves, |leaf| &leaf.content.said);
    let mut pairs = BTreeSet::new();
    for (at, leaf) in leaves.iter().enumerate() {
        let mut words: Vec<&[usize]> =
            leaf.content.words.iter().map(|word| &*by_word[word.as_str()]).collect();
        words.sort_by_key(|places| places.len());
        // Take the rarest fifth: a topic without any of these has less than four fifths of the words in common.
        let rare = words.iter().take(1 + words.len() / 5).copied();
        let rare = rare.filter(|places| places.len() <= MANY_ALIKE);
        let rarest = leaf
            .content
            .said
            .iter()
            .map(|said| &*by_sentence[said.as_str()])
            .min_by_key(|places| places.len());
        // If there are thousands of copies, each round merges neighbors.
        let copies = rarest.map(|places| around(places, at)).unwrap_or_default();
        for other in rare.flatten().chain(copies).filter(|other| **other != at) {
            pairs.insert((at.min(*other), at.max(*other)));
        }
    }
    pairs.into_iter().map(|(one, other)| (names[one].clone(), names[other].clone())).collect()
}

/// Maps each text to the topics that contain it.
fn places<'a>(
    leaves: &[&'a Leaf],
    of: impl Fn(&'a Leaf) -> &'a BTreeSet<String>,
) -> HashMap<&'a str, Vec<usize>> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, leaf) in leaves.iter().enumerate() {
        for text in of(leaf) {
            places.entry(text).or_default().push(at);
        }
    }
    places
}

fn around(places: &[usize], at: usize) -> &[usize] {
    if places.len() <= MANY_ALIKE {
        return places;
    }
    let from = places.partition_point(|other| *other <= at);
    &places[from..(from + 1).min(places.len())]
}

fn join(bench: &mut DreamBench, kept: &Name, goes: &Name) {
    let pages = bench.pages();
    let (Some(into), Some(from)) = (pages.get(kept).cloned(), pages.get(goes).cloned()) else {
        return;
    };
    if into.is_own() {
        let text = joined(&into, &from);
        let what = format!("added the content of {}", goes.file());
        bench.write(kept, text, &what, "both topics say the same thing");
    }
    let why = format!("{} contains all of its content", kept.file());
    bench.remove(goes, &format!("merged into {}", kept.file()), &why);
    let stands = bench.pages().get(kept).map(|page| said(page.body())).unwrap_or_default();
    for sentence in sentences(from.body()).into_iter().filter(|s| !stands.contains(&s.normal)) {
        let text = &from.body()[sentence.range];
        bench.dropped(goes.file(), text, "text that bethink had added");
    }
    let asked = bench.pages().get(kept).map(|page| page.header.questions.clone());
    let asked = asked.unwrap_or_default();
    for question in from.header.questions.iter().filter(|one| !asked.contains(one)) {
        bench.dropped(goes.file(), question, "a question that the merged topic answered");
    }
}

/// Returns the text of the kept topic, with the other topic's additional text and its source.
fn joined(into: &TopicState, from: &TopicState) -> String {
    let lacking = lacking(into, from);
    let (mine, theirs) = (&into.header.source, &from.header.source);
    let text = match (mine, theirs) {
        (Some(mine), Some(theirs)) if lacking.is_empty() && is_same_session(mine, theirs) => {
            let mut both = mine.clone();
            let more = theirs.messages.iter().filter(|seq| !mine.messages.contains(seq));
            both.messages.extend(more.cloned());
            with_header(into.text.clone(), HeaderChange::Source(&both))
        }
        (Some(_), Some(theirs)) if lacking.is_empty() => {
            appended(&into.text, &format!("{}.", learned(theirs)))
        }
        (_, Some(theirs)) => {
            appended(&appended(&into.text, &format!("{}:", learned(theirs))), &lacking)
        }
        (_, None) => appended(&into.text, &lacking),
    };
    let mut questions = into.header.questions.clone();
    questions.extend(from.header.questions.iter().cloned());
    let text = match questions == into.header.questions {
        true => text,
        false => with_header(text, HeaderChange::Questions(&questions)),
    };
    // Keep a description that adds something.
    match from.header.description.as_deref() {
        Some(words) if !content(words).is_subset(&content(&text)) => appended(&text, words),
        _ => text,
    }
}

/// Returns the blocks of `from` that say something that `into` does not. Headings stay with the text below them.
fn lacking(into: &TopicState, from: &TopicState) -> String {
    let (have, body) = (said(into.body()), from.body());
    let mut pieces: Vec<&str> = Vec::new();
    let mut heading: Option<&str> = None;
    for block in blocks(body) {
        let text = body[block.range.clone()].trim_end();
        if block.kind == LineKind::Heading {
            heading = Some(text);
        } else if !said(text).is_subset(&have) {
            pieces.extend(heading.take());
            pieces.push(text);
        }
    }
    pieces.join("\n\n")
}

fn is_same_session(mine: &Source, theirs: &Source) -> bool {
    mine.session == theirs.session && mine.strategy == theirs.strategy
}

/// Formats a source: `Also learned in session 0190, messages 12-14 (embedded, 2026-05-04T10:00:00Z)`.
fn learned(source: &Source) -> String {
    let messages = match source.messages.as_slice() {
        [] => String::new(),
        [one] => format!(", message {one}"),
        many => format!(", messages {}", many.join(", ")),
    };
    format!("{LEARNED} {}{messages} ({}, {})", source.session, source.strategy, source.time)
}

/// Appends a paragraph, with the file's line endings.
fn appended(text: &str, more: &str) -> String {
    if more.is_empty() {
        return text.to_owned();
    }
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let more = more.replace("\r\n", "\n").replace('\n', end);
    format!("{}{end}{end}{more}{end}", text.trim_end_matches(['\r', '\n']))
}
