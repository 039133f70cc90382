//! When each part of a topic was said, as far as the topic shows.

use std::collections::BTreeSet;
use std::ops::Range;

use bethink_statement::{content, likeness, names, normal};
use jiff::civil::Date;

use crate::bench::{TopicState, day};
use crate::limits::SAME_WORDS;
use crate::text::{blocks, sentences};

/// Beginning of a line that names the source of the merged text below it. A line without a colon at the end
/// added no text.
pub(crate) const LEARNT: &str = "Also learnt in session";
/// How an extraction records when the quotation above was said.
const SAID: &str = "The user said so on ";
/// Beginnings of sentences that the daemon adds to statements.
const OURS: [&str; 7] = [
    LEARNT,
    SAID,
    "How to apply",
    "Where it differs from what stands above",
    "Why:",
    "Source:",
    "Learnt",
];

/// Whether the daemon added the sentence.
pub(crate) fn is_ours(sentence: &str) -> bool {
    let bare = sentence.trim_start_matches(['*', '_', '>', ' ']);
    OURS.iter().any(|mark| bare.starts_with(mark))
}

/// The sentences of a body without those that the daemon added.
pub(crate) fn meant(body: &str) -> Vec<&str> {
    let all = sentences(body).into_iter().map(|sentence| &body[sentence.range]);
    all.filter(|text| !is_ours(text)).collect()
}

/// What a text says without those sentences, as sets to compare.
pub(crate) struct Meant {
    pub(crate) said: BTreeSet<String>,
    pub(crate) words: BTreeSet<String>,
    pub(crate) names: BTreeSet<String>,
}

impl Meant {
    /// `description` counts for words and names, but not as a sentence.
    pub(crate) fn of(description: &str, body: &str) -> Self {
        let meant = meant(body);
        let all = format!("{description}.\n\n{}", meant.join("\n"));
        let said = meant.into_iter().map(normal).collect();
        Self { said, words: content(&all), names: names(&all) }
    }

    pub(crate) fn resembles(&self, other: &Self) -> bool {
        likeness(&self.words, &other.words) >= SAME_WORDS
    }
}

/// Parts of a body with the day on which they were said. Parts of unknown date are left out.
pub(crate) fn timeline(page: &TopicState) -> Vec<(Range<usize>, Date)> {
    let body = page.body();
    let mut parts = Vec::new();
    let (mut start, mut told) = (0, whole_day(page));
    for block in blocks(body) {
        let text = body[block.range.clone()].trim();
        if text.starts_with(LEARNT) {
            parts.extend(told.map(|date| (start..block.range.start, date)));
            (start, told) = (block.range.end, merged_day(text));
        } else if let Some(date) = text.find(SAID).and_then(|at| day(&text[at + SAID.len()..])) {
            parts.push((start..block.range.end, date));
            (start, told) = (block.range.end, None);
        }
    }
    parts.extend(told.map(|date| (start..body.len(), date)));
    parts
}

/// The day on which the whole file was written, if it has only one.
pub(super) fn whole_day(page: &TopicState) -> Option<Date> {
    let said = page.learnt()?;
    let modified = page.header.modified.as_deref().map_or(Some(said), day);
    (page.is_own() && modified == Some(said)).then_some(said)
}

/// Of `Also learnt in session … (embedded, 2026-05-04T10:00:00Z):`.
fn merged_day(line: &str) -> Option<Date> {
    day(line.strip_suffix("):")?.rsplit_once(", ")?.1)
}
