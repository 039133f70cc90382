//! Finds out when each part of a topic was said, from its front matter and from lines that the daemon added.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use bethink_statement::{content, likeness, names};
use jiff::civil::Date;

use crate::bench::{TopicState, day};
use crate::limits::SAME_WORDS;
use crate::text::{ProseSentence, blocks, sentences};

/// Beginning of a line that names the source of merged text. If the line ends with a colon, the added text follows;
/// otherwise no text was added.
pub(crate) const LEARNED: &str = "Also learned in session";
/// The same beginning in topics that earlier versions wrote.
const LEARNED_BEFORE: &str = "Also learnt in session";
/// Beginning of a sentence that an extraction adds, with the date of the quotation above.
const SAID: &str = "The user said so on ";
/// Beginnings of sentences that the daemon adds to statements.
const OURS: [&str; 12] = [
    LEARNED,
    LEARNED_BEFORE,
    SAID,
    // Between a memory in other words and the statement that it comes from.
    "Written on ",
    "How to apply",
    "If this statement contradicts the text above",
    // Earlier versions wrote these two.
    "If it contradicts the text above",
    "Where it differs from what stands above",
    "Why:",
    "Source:",
    "Learned",
    "Learnt",
];

/// Returns whether the daemon added the sentence.
pub(crate) fn is_ours(sentence: &str) -> bool {
    let bare = sentence.trim_start_matches(['*', '_', '>', ' ']);
    OURS.iter().any(|mark| bare.starts_with(mark))
}

/// Returns the sentences of a body without those that the daemon added.
pub(crate) fn own_sentences(body: &str) -> Vec<ProseSentence> {
    let mut all = sentences(body);
    all.retain(|sentence| !is_ours(&body[sentence.range.clone()]));
    all
}

/// The sentences, words and names in a topic's text, without sentences that the daemon added.
#[derive(Clone, Debug)]
pub(crate) struct TextContent {
    pub(crate) said: BTreeSet<String>,
    pub(crate) words: BTreeSet<String>,
    pub(crate) names: BTreeSet<String>,
}

impl TextContent {
    pub(crate) fn of(body: &str) -> Self {
        let own = own_sentences(body);
        let texts: Vec<&str> = own.iter().map(|sentence| &body[sentence.range.clone()]).collect();
        let all = texts.join("\n");
        let said = own.into_iter().map(|sentence| sentence.normal).collect();
        Self { said, words: content(&all), names: names(&all) }
    }

    /// Adds the words and names of a topic's description, which is not a sentence of the topic.
    pub(crate) fn with_description(mut self: Arc<Self>, description: &str) -> Arc<Self> {
        let (words, names) = (content(description), names(description));
        if !words.is_subset(&self.words) || !names.is_subset(&self.names) {
            let mine = Arc::make_mut(&mut self);
            mine.words.extend(words);
            mine.names.extend(names);
        }
        self
    }

    /// Whether this topic says what the other text says.
    pub(crate) fn says(&self, text: &Self) -> bool {
        text.said.is_subset(&self.said) || self.resembles(text) && self.names == text.names
    }

    pub(crate) fn resembles(&self, other: &Self) -> bool {
        likeness(&self.words, &other.words) >= SAME_WORDS
    }
}

/// Returns the parts of a body with the day on which each was said. Parts of unknown date are left out.
pub(crate) fn timeline(page: &TopicState) -> Vec<(Range<usize>, Date)> {
    let body = page.body();
    let mut parts = Vec::new();
    let (mut start, mut day_said) = (0, whole_day(page));
    for block in blocks(body) {
        let text = body[block.range.clone()].trim();
        if text.starts_with(LEARNED) || text.starts_with(LEARNED_BEFORE) {
            parts.extend(day_said.map(|date| (start..block.range.start, date)));
            (start, day_said) = (block.range.end, merged_day(text));
        } else if let Some(date) = text.find(SAID).and_then(|at| day(&text[at + SAID.len()..])) {
            parts.push((start..block.range.end, date));
            (start, day_said) = (block.range.end, None);
        }
    }
    parts.extend(day_said.map(|date| (start..body.len(), date)));
    parts
}

/// Returns the day on which the whole file was written, if there is only one.
pub(super) fn whole_day(page: &TopicState) -> Option<Date> {
    let said = page.learned()?;
    let modified = page.header.modified.as_deref().map_or(Some(said), day);
    (page.is_own() && modified == Some(said)).then_some(said)
}

/// Parses the day of `Also learned in session … (embedded, 2026-05-04T10:00:00Z):`.
fn merged_day(line: &str) -> Option<Date> {
    day(line.strip_suffix("):")?.rsplit_once(", ")?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests the sentences that an extraction appends to a topic: the current one, and those of earlier versions.
    #[test]
    fn sentences_that_an_extraction_adds_are_not_the_users() {
        for added in [
            "If this statement contradicts the text above, follow this statement.",
            "If it contradicts the text above, follow this one.",
            "Where it differs from what stands above, this is what counts.",
        ] {
            let body = format!(
                "> Use npm.\n\nThe user said so on 2026-06-01. How to apply: follow it in new work; if files show \
                 something else, say so and ask.\n\n> Use pnpm.\n\nThe user said so on 2026-06-08. {added}\n"
            );
            let own = own_sentences(&body);
            assert_eq!(own.len(), 2, "{own:?}");
            let of = |at: usize| &own[at].normal;
            assert!(of(0).contains("npm") && of(1).contains("pnpm"), "{own:?}");
        }
    }
}
