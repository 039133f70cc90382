//! Reduces a topic to what the catalog stores: its terms, and the parts and passages that contain them.

use std::collections::HashMap;

use bethink_api::TopicField;
use bethink_memdir::MemoryKind;

use crate::terms::{TermShape, for_each_shaped_term};

/// Maximum number of passages into which a body is divided. A posting has one bit for each passage, and one for the
/// header.
const PASSAGES: usize = 15;
/// Minimum size of a passage in bytes: about a paragraph.
const PASSAGE_BYTES: usize = 280;
/// Maximum length of bold text that counts as a title, in bytes. Longer text is an emphasized sentence.
const TITLE_BYTES: usize = 60;
/// A topic's title, description and body are each indexed up to this many bytes.
const MOST_TEXT_BYTES: usize = 64 * 1024;

/// All parts of a topic.
pub(crate) const FIELDS: [TopicField; 6] = [
    TopicField::Name,
    TopicField::Description,
    TopicField::Question,
    TopicField::Heading,
    TopicField::Identifier,
    TopicField::Body,
];

/// Returns the bit of a field in [`TermMark::fields`].
fn bit(field: TopicField) -> u8 {
    1 << field as u8
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Card<'a> {
    /// The file's name without `.md`.
    pub name: &'a str,
    /// The name in the front matter; empty if there is none.
    pub title: &'a str,
    pub description: &'a str,
    /// Questions that the topic answers, worded differently from the topic itself.
    pub questions: &'a [String],
}

/// A term's occurrences in a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TermMark {
    /// Which parts contain the term, with one [`bit`] per part.
    fields: u8,
    /// Number of mentions in the body, at most 255.
    pub(crate) mentions: u8,
    /// Passages with the term: bit 0 is the header, the others are passages of the body in order.
    pub(crate) passages: u16,
}

#[derive(Debug, Default)]
pub(crate) struct TopicTerms {
    pub(crate) marks: HashMap<String, TermMark>,
    /// Number of terms in the body, with repetitions.
    pub(crate) length: u32,
}

pub(crate) fn terms(card: &Card<'_>, body: &str) -> TopicTerms {
    let mut terms = TopicTerms::default();
    let header = [
        (without_kind(card.name), TopicField::Name),
        (without_kind(card.title), TopicField::Name),
        (card.description, TopicField::Description),
    ];
    let questions = card.questions.iter().map(|text| (text.as_str(), TopicField::Question));
    for (text, field) in header.into_iter().chain(questions) {
        for_each_shaped_term(beginning(text), |term, _, _| terms.mark(term, bit(field), 1, 0));
    }
    let body = beginning(body);
    let step = PASSAGE_BYTES.max(body.len() / PASSAGES + 1);
    let mut start = 0;
    for line in body.split_inclusive('\n') {
        let prominent_end = prominent_bytes(line);
        for_each_shaped_term(line, |term, shape, range| {
            let passage = 1 + ((start + range.start) / step).min(PASSAGES - 1);
            let prominent = if range.start < prominent_end { bit(TopicField::Heading) } else { 0 };
            let named = if shape == TermShape::Joined { bit(TopicField::Identifier) } else { 0 };
            terms.mark(term, bit(TopicField::Body) | prominent | named, 1 << passage, 1);
            terms.length += 1;
        });
        start += line.len();
    }
    terms
}

/// Removes a type prefix, such as `feedback_` in `feedback_tests`. People use such prefixes for sorting.
pub(super) fn without_kind(name: &str) -> &str {
    let kinds = MemoryKind::ALL.map(MemoryKind::as_str);
    let rest = kinds.iter().find_map(|kind| name.strip_prefix(kind));
    rest.and_then(|rest| rest.strip_prefix(['_', '-'])).unwrap_or(name)
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_TEXT_BYTES)]
}

impl TermMark {
    /// Whether the term occurs in this part of the topic.
    pub(crate) fn is_in(self, field: TopicField) -> bool {
        self.fields & bit(field) != 0
    }
}

impl TopicTerms {
    fn mark(&mut self, term: &str, fields: u8, passages: u16, mentions: u8) {
        let mark = match self.marks.get_mut(term) {
            Some(mark) => mark,
            None => self.marks.entry(term.to_owned()).or_default(),
        };
        mark.fields |= fields;
        mark.passages |= passages;
        mark.mentions = mark.mentions.saturating_add(mentions);
    }
}

/// Returns the number of prominent bytes at the start of a line: a whole heading, or bold words that serve as a
/// heading.
fn prominent_bytes(line: &str) -> usize {
    let text = line.trim_start_matches([' ', '\t', '>']);
    let text = text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")).unwrap_or(text);
    if text.starts_with('#') {
        return line.len();
    }
    let bold = text.strip_prefix("**").and_then(|rest| rest.find("**"));
    let bold = bold.filter(|length| *length <= TITLE_BYTES);
    bold.map_or(0, |length| line.len() - text.len() + 2 + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, term: &str, fields: &[TopicField], passages: u16) {
        let card = Card {
            name: "a-name",
            title: "Some Title",
            description: "what it is of",
            questions: &["how is the harbour?".to_owned()],
        };
        let terms = terms(&card, body);
        let mark = terms.marks.get(term).copied().unwrap_or_default();
        let bits = fields.iter().fold(0, |bits, field| bits | bit(*field));
        assert_eq!((mark.fields, mark.passages), (bits, passages), "{term}: {mark:?}");
    }

    #[test]
    fn terms_know_where_they_stand() {
        use TopicField::{Body, Description, Heading, Identifier, Name, Question};
        check("", "titl", &[Name], 1);
        check("", "name", &[Name], 1);
        check("# Fog far\nnear", "fog", &[Body, Heading], 2);
        check("# Fog far\nnear", "near", &[Body], 2);
        check("- **Why:** rain", "rain", &[Body], 2);
        check("- **Water level:** rain", "level", &[Body, Heading], 2);
        check("call setFogDistance", "setfogdist", &[Body, Identifier], 2);
        check("call setFogDistance", "fog", &[Body], 2);
        let far = format!("{} rain", "x ".repeat(200));
        check(&far, "rain", &[Body], 4);
        let far = format!("{} rain", "x ".repeat(20_000));
        check(&far, "rain", &[Body], 1 << 15);
        let _ = Description;
        check("", "harbour", &[Question], 1);
    }

    #[test]
    fn a_book_is_read_as_far_as_is_taken() {
        let body = format!("{} unread", "word ".repeat(20_000));
        let terms = terms(&Card::default(), &body);
        assert_eq!(terms.marks["word"].mentions, 255);
        assert!(!terms.marks.contains_key("unread"));
    }
}
