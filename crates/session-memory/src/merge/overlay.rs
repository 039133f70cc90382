//! A person's changes to the file: lines added, sections added, rows removed.

use std::collections::{HashMap, HashSet};

use bethink_tokens::text_tokens;

use crate::budget::ALWAYS;
use crate::document::{NotesSection, same_heading};
use crate::draft::{NotesDraft, NotesRow, words_key};
use crate::template::Template;
use crate::written::{RowId, TEMPLATE_KEY, WrittenNotes};

#[derive(Debug, Default)]
pub(super) struct Overlay {
    pub(super) preamble: Vec<String>,
    pub(super) removed: Vec<RowId>,
    pub(super) crlf: bool,
    /// The lines in each section of the template.
    sections: Vec<Vec<KeptLine>>,
    /// A person's own sections, each with the template's section that it follows; `None` before the first.
    extras: Vec<(Option<usize>, NotesSection)>,
}

/// A line of a section, in the order of the file.
#[derive(Debug)]
enum KeptLine {
    /// The key of a row that the daemon wrote.
    Row(String),
    /// A line that a person wrote.
    Own(String),
}

fn own_lines(section: &[KeptLine]) -> impl Iterator<Item = &String> {
    section.iter().filter_map(|line| match line {
        KeptLine::Own(text) => Some(text),
        KeptLine::Row(_) => None,
    })
}

impl Overlay {
    pub(super) fn read(template: &Template, last: &WrittenNotes, file: &str) -> Self {
        let document = template.read(file);
        let started_over =
            document.parts.iter().all(|part| template.place(&part.heading).is_none());
        let mut overlay = Self {
            removed: last.removed.clone(),
            crlf: document.crlf,
            sections: template.sections.iter().map(|_| Vec::new()).collect(),
            ..Self::default()
        };
        let mut readers: Vec<OverlayReader<'_>> =
            template.sections.iter().map(|s| OverlayReader::new(last, &s.heading)).collect();
        let mut place = None;
        for part in document.parts {
            match template.place(&part.heading) {
                Some(at) => {
                    place = Some(at);
                    readers[at].read(&part.lines, &mut overlay.sections[at]);
                }
                None => overlay.add_extra(place, last, part),
            }
        }
        overlay.preamble = document.preamble;
        if started_over {
            let own: HashSet<&str> = last.rows.iter().map(|row| row.text.trim()).collect();
            overlay.preamble.retain(|line| !own.contains(line.trim()));
        } else {
            for (section, reader) in template.sections.iter().zip(&readers) {
                overlay.removed.extend(reader.missing(&section.heading));
            }
        }
        let mut seen = HashSet::new();
        overlay.removed.retain(|id| seen.insert(id.clone()));
        overlay
    }

    /// Adds a section that the template does not have, without the lines that the daemon wrote under an earlier
    /// template. A section that only has such lines is dropped.
    fn add_extra(&mut self, after: Option<usize>, last: &WrittenNotes, mut part: NotesSection) {
        let mut own = OverlayReader::new(last, &part.heading);
        let was_ours = !own.keys.is_empty();
        part.lines.retain(|line| own.take(line).is_none());
        if !was_ours || part.lines.iter().any(|line| !line.trim().is_empty()) {
            self.extras.push((after, part));
        }
    }

    /// Removes from a draft the rows that a person removed or wrote themselves.
    pub(super) fn strike(&self, template: &Template, draft: &mut NotesDraft) {
        for ((section, drafted), kept) in
            template.sections.iter().zip(&mut draft.sections).zip(&self.sections)
        {
            let removed: HashSet<&str> = self
                .removed
                .iter()
                .filter(|id| same_heading(&id.section, &section.heading))
                .map(|id| id.key.as_str())
                .collect();
            let said: HashSet<&str> = own_lines(kept).map(|line| line.trim()).collect();
            let is_removed = |row: &NotesRow| {
                removed.contains(row.key.as_str())
                    || (row.weight != ALWAYS && removed.contains(words_key(&row.text).as_str()))
            };
            drafted.rows.retain(|row| !is_removed(row) && !said.contains(row.text.trim()));
        }
    }

    /// Returns the number of tokens in a person's lines, for each section and outside all sections.
    pub(super) fn sizes(&self, template: &Template) -> (Vec<u64>, u64) {
        let cost = |line: &String| u64::from(text_tokens(line)) + 1;
        let size = |lines: &[String]| lines.iter().map(cost).sum::<u64>();
        let kept = self.sections.iter().map(|section| own_lines(section).map(cost).sum());
        let extras: u64 = self.extras.iter().map(|(_, part)| size(&part.lines)).sum();
        let headings = template.sections.iter().map(|s| u64::from(text_tokens(&s.heading)) + 2);
        (kept.collect(), extras + size(&self.preamble) + headings.sum::<u64>())
    }

    /// Puts a person's lines between rows, each after the nearest earlier row that remains.
    pub(super) fn merged_lines(&self, at: usize, rows: &[NotesRow]) -> Vec<String> {
        let present: HashSet<&str> = rows.iter().map(|row| row.key.as_str()).collect();
        let mut following: HashMap<Option<&str>, Vec<&String>> = HashMap::new();
        let mut anchor = None;
        for line in self.sections.get(at).into_iter().flatten() {
            match line {
                KeptLine::Row(key) if present.contains(key.as_str()) => anchor = Some(key.as_str()),
                KeptLine::Row(_) => {}
                KeptLine::Own(text) => following.entry(anchor).or_default().push(text),
            }
        }
        let mut lines = Vec::with_capacity(rows.len());
        for row in std::iter::once(None).chain(rows.iter().map(Some)) {
            lines.extend(row.map(|row| row.text.clone()));
            let own = following.remove(&row.map(|row| row.key.as_str()));
            lines.extend(own.into_iter().flatten().cloned());
        }
        lines
    }

    pub(super) fn extras_after(
        &self,
        place: Option<usize>,
    ) -> impl Iterator<Item = NotesSection> + '_ {
        self.extras.iter().filter(move |(after, _)| *after == place).map(|(_, part)| part.clone())
    }
}

/// Separates the daemon's lines of one section from a person's.
struct OverlayReader<'a> {
    /// The key of each line that the daemon wrote.
    keys: HashMap<&'a str, &'a str>,
    found: HashSet<&'a str>,
}

impl<'a> OverlayReader<'a> {
    fn new(last: &'a WrittenNotes, heading: &str) -> Self {
        let own = last.rows.iter().filter(|row| same_heading(&row.id.section, heading));
        let keys = own.map(|row| (row.text.trim(), row.id.key.as_str())).collect();
        Self { keys, found: HashSet::new() }
    }

    /// Returns the key of the line, if the daemon wrote it.
    fn take(&mut self, line: &str) -> Option<&'a str> {
        let key = self.keys.get(line.trim()).copied()?;
        self.found.insert(key);
        Some(key)
    }

    /// Appends to `kept` the lines found below one occurrence of the heading.
    fn read(&mut self, lines: &[String], kept: &mut Vec<KeptLine>) {
        // Blank lines between consecutive lines of a person are kept.
        let (mut open, mut blanks) = (false, 0);
        for line in lines {
            if line.trim().is_empty() {
                blanks += 1;
                continue;
            }
            let key = self.take(line);
            let is_known = |key: &str| {
                kept.iter().any(|line| matches!(line, KeptLine::Row(known) if known == key))
            };
            match key {
                Some(key) if is_known(key) => {}
                Some(key) => kept.push(KeptLine::Row(key.to_owned())),
                None => {
                    let between = if open { blanks } else { 0 };
                    kept.extend((0..between).map(|_| KeptLine::Own(String::new())));
                    kept.push(KeptLine::Own(line.clone()));
                }
            }
            (open, blanks) = (key.is_none(), 0);
        }
    }

    /// Returns the rows that a person removed, by key and by words, because another strategy uses other keys.
    fn missing(&self, heading: &str) -> Vec<RowId> {
        let gone = self.keys.iter().filter(|(_, key)| !self.found.contains(*key));
        let mut keys: Vec<String> = gone
            .flat_map(|(text, key)| {
                // A line of the template is not identified by its words.
                let words = (!key.starts_with(TEMPLATE_KEY)).then(|| words_key(text));
                words.into_iter().chain([(*key).to_owned()])
            })
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().map(|key| RowId { section: heading.to_owned(), key }).collect()
    }
}
