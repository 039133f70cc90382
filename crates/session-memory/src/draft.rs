//! The output of a strategy: rows with keys, so that a newer wording replaces an older one.

use std::collections::HashSet;

use bethink_facts::Facts;

use crate::document::same_heading;
use crate::template::{SectionKind, Template};
use crate::written::{WrittenNotes, WrittenRow};

/// Writes notes. [`crate::update`] merges the notes of every strategy with the file.
pub trait NotesWriter: Send + Sync {
    /// Returns the strategy's name, which is stored with its notes.
    fn strategy(&self) -> &'static str;
    fn write(&self, request: &NotesRequest<'_>) -> Result<NotesDraft, WriterError>;
}

#[derive(Clone, Copy, Debug)]
pub struct NotesRequest<'a> {
    /// Facts up to the newest message that the notes will cover.
    pub facts: &'a Facts,
    pub template: &'a Template,
    /// The session's title, if a person chose it.
    pub title: Option<&'a str>,
    /// The project's directory; paths are shown relative to it.
    pub project_dir: &'a str,
}

/// The reason why no notes were written. The old notes stay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {strategy} strategy wrote no notes: {reason}")]
pub struct WriterError {
    pub strategy: &'static str,
    pub reason: String,
}

/// Notes before they are merged with the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotesDraft {
    /// One section for each section of the template, in order.
    pub sections: Vec<DraftSection>,
}

impl NotesDraft {
    /// Returns the daemon's rows as it last wrote them.
    pub(crate) fn from_written(template: &Template, last: &WrittenNotes) -> Self {
        let sections = template.sections.iter().map(|section| {
            let own =
                last.rows.iter().filter(|row| same_heading(&row.id.section, &section.heading));
            let own = own.filter(|row| !template.is_description(&row.text));
            let row = |row: &WrittenRow| NotesRow {
                key: row.id.key.clone(),
                text: row.text.clone(),
                weight: WRITTEN_WEIGHT,
            };
            DraftSection::new(section.kind, own.map(row).collect())
        });
        Self { sections: sections.collect() }
    }
}

/// Weight of rows that were written before. All of them have the same weight, so the oldest are dropped first.
const WRITTEN_WEIGHT: u32 = 1;

/// Maximum size of a key made of words, in bytes; a longer one is cut and ends with a hash.
const KEY_BYTES: usize = 96;

/// Makes a key from the words of a line, independent of case and punctuation. All strategies make the same key for the
/// same words, so a row that a person removed is recognized in any strategy.
pub(crate) fn words_key(line: &str) -> String {
    let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let words = if words.is_empty() { line.trim().to_owned() } else { words.join(" ") };
    if words.len() <= KEY_BYTES {
        return format!("={words}");
    }
    // FNV-1a is the same in every build; the standard library does not promise that of its hasher.
    let number = words.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |number, byte| {
        (number ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let head = bethink_transcript::text::beginning(&words, KEY_BYTES - 20);
    format!("={head} {number:016x}")
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftSection {
    pub kind: Option<SectionKind>,
    pub rows: Vec<NotesRow>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotesRow {
    /// Identifies the subject, whatever the wording. A row that a person removed is recognized by its key.
    pub key: String,
    /// One line; never a heading and never a fence.
    pub text: String,
    pub weight: u32,
}

impl NotesRow {
    /// Makes a list item. White space of any kind becomes single spaces.
    pub fn item(key: impl Into<String>, text: &str, weight: u32) -> Self {
        Self { key: key.into(), text: format!("- {}", one_line(text)), weight }
    }

    /// Makes a line that is not a list item. Marks that would make it a heading or a fence are removed.
    pub fn plain(key: impl Into<String>, text: &str, weight: u32) -> Self {
        let text = one_line(text).trim_start_matches(['#', '`', '~', ' ']).to_owned();
        Self { key: key.into(), text, weight }
    }
}

impl DraftSection {
    /// Removes rows without text, and makes repeated keys unique.
    pub(crate) fn new(kind: Option<SectionKind>, rows: Vec<NotesRow>) -> Self {
        let mut keys = HashSet::new();
        let mut section = Self { kind, rows: Vec::with_capacity(rows.len()) };
        for mut row in rows.into_iter().filter(|row| !row.text.trim_matches(['-', ' ']).is_empty())
        {
            let first = row.key.clone();
            let mut again = 2;
            while !keys.insert(row.key.clone()) {
                row.key = format!("{first}#{again}");
                again += 1;
            }
            section.rows.push(row);
        }
        section
    }
}

pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_line_of_text() {
        assert_eq!(NotesRow::item("k", "a\n# b\t\u{7}c", 0).text, "- a # b c");
        assert_eq!(NotesRow::plain("k", "## a\nb", 0).text, "a b");
        assert_eq!(NotesRow::plain("k", "```", 0).text, "");
    }

    #[test]
    fn the_same_words_have_the_same_key() {
        assert_eq!(words_key("- [41] Mended `day.rs`!"), "=41 mended day rs");
        assert_eq!(words_key("* [41]  mended day.rs"), words_key("- [41] Mended `day.rs`!"));
        assert_eq!(words_key(" } "), "=}");
        let long = |end: &str| words_key(&format!("{} {end}", "word ".repeat(60)));
        assert!(long("a").len() <= KEY_BYTES && long("a") != long("b"), "{}", long("a"));
    }

    #[test]
    fn keys_are_unique_and_empty_rows_are_dropped() {
        let rows = vec![
            NotesRow::item("k", "a", 0),
            NotesRow::item("k", "b", 0),
            NotesRow::item("e", " ", 0),
        ];
        let section = DraftSection::new(None, rows);
        let keys: Vec<_> = section.rows.iter().map(|row| row.key.as_str()).collect();
        assert_eq!(keys, ["k", "k#2"]);
    }
}
