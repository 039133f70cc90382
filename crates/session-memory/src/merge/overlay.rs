//! What a person did to the file: lines added, sections of their own, rows taken out.

use std::collections::{HashMap, HashSet};

use bethink_tokens::Estimator;

use super::{RowId, TEMPLATE_KEY, Written};
use crate::budget::ALWAYS;
use crate::document::{Document, Part, same_heading};
use crate::draft::{Draft, Row, words_key};
use crate::template::Template;

#[derive(Debug, Default)]
pub(super) struct Overlay {
    pub(super) preamble: Vec<String>,
    pub(super) removed: Vec<RowId>,
    pub(super) crlf: bool,
    /// One for each section of the template.
    sections: Vec<Kept>,
    /// Sections of a person's own, each after a section of the template or before the first.
    extras: Vec<(Option<usize>, Part)>,
}

/// A person's lines in one section.
#[derive(Debug, Default)]
struct Kept {
    /// Keys of the daemon's rows, in the order of the file.
    order: Vec<String>,
    blocks: Vec<Block>,
}

/// Lines of a person's that follow each other, and the row that they follow.
#[derive(Debug)]
struct Block {
    after: Option<String>,
    lines: Vec<String>,
}

impl Overlay {
    pub(super) fn read(template: &Template, last: &Written, file: &str) -> Self {
        let known = |heading: &str| template.place(heading).is_some();
        let document = Document::parse_with(file, template.level, &known);
        let begun_anew = !document.parts.iter().any(|part| known(&part.heading));
        let mut overlay = Self {
            removed: last.removed.clone(),
            crlf: document.crlf,
            sections: template.sections.iter().map(|_| Kept::default()).collect(),
            ..Self::default()
        };
        let mut readers: Vec<Reader<'_>> =
            template.sections.iter().map(|s| Reader::new(last, &s.heading)).collect();
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
        if begun_anew {
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

    /// A section that the template does not have, without the lines that the daemon wrote under an
    /// earlier template; nothing if nothing else is in it.
    fn add_extra(&mut self, after: Option<usize>, last: &Written, mut part: Part) {
        let mut own = Reader::new(last, &part.heading);
        let was_ours = !own.keys.is_empty();
        part.lines.retain(|line| own.take(line).is_none());
        if !was_ours || part.lines.iter().any(|line| !line.trim().is_empty()) {
            self.extras.push((after, part));
        }
    }

    /// Takes out of a draft what a person removed, and what they say themselves.
    pub(super) fn strike(&self, template: &Template, draft: &mut Draft) {
        for ((section, drafted), kept) in
            template.sections.iter().zip(&mut draft.sections).zip(&self.sections)
        {
            let removed: HashSet<&str> = self
                .removed
                .iter()
                .filter(|id| same_heading(&id.section, &section.heading))
                .map(|id| id.key.as_str())
                .collect();
            let said: HashSet<&str> =
                kept.blocks.iter().flat_map(|b| &b.lines).map(|line| line.trim()).collect();
            let is_removed = |row: &Row| {
                removed.contains(row.key.as_str())
                    || (row.weight != ALWAYS && removed.contains(words_key(&row.text).as_str()))
            };
            drafted.rows.retain(|row| !is_removed(row) && !said.contains(row.text.trim()));
        }
    }

    /// Tokens of a person's lines: in each section, and outside of all.
    pub(super) fn sizes(&self, template: &Template, estimator: &dyn Estimator) -> (Vec<u64>, u64) {
        let size = |lines: &[String]| {
            lines.iter().map(|line| u64::from(estimator.text(line)) + 1).sum::<u64>()
        };
        let kept = self.sections.iter().map(|k| k.blocks.iter().map(|b| size(&b.lines)).sum());
        let extras: u64 = self.extras.iter().map(|(_, part)| size(&part.lines)).sum();
        let headings = template.sections.iter().map(|s| u64::from(estimator.text(&s.heading)) + 2);
        (kept.collect(), extras + size(&self.preamble) + headings.sum::<u64>())
    }

    /// Rows with a person's lines between them. Lines whose row is gone follow the nearest row before
    /// it that is still there.
    pub(super) fn woven(&self, at: usize, rows: &[Row]) -> Vec<String> {
        let Some(kept) = self.sections.get(at) else { return Vec::new() };
        let present: HashSet<&str> = rows.iter().map(|row| row.key.as_str()).collect();
        let places: HashMap<&str, usize> =
            kept.order.iter().enumerate().map(|(place, key)| (key.as_str(), place)).collect();
        let mut following: HashMap<Option<&str>, Vec<&String>> = HashMap::new();
        for block in &kept.blocks {
            let place = block.after.as_deref().and_then(|key| places.get(key));
            let earlier = place.into_iter().flat_map(|place| kept.order[..=*place].iter().rev());
            let anchor = earlier.map(String::as_str).find(|key| present.contains(key));
            following.entry(anchor).or_default().extend(&block.lines);
        }
        let mut lines = Vec::with_capacity(rows.len());
        lines.extend(following.get(&None).into_iter().flatten().copied().cloned());
        for row in rows {
            lines.push(row.text.clone());
            let after = following.get(&Some(row.key.as_str()));
            lines.extend(after.into_iter().flatten().copied().cloned());
        }
        lines
    }

    pub(super) fn extras_after(&self, place: Option<usize>) -> impl Iterator<Item = Part> + '_ {
        self.extras.iter().filter(move |(after, _)| *after == place).map(|(_, part)| part.clone())
    }
}

/// Tells the daemon's lines of one section from a person's.
struct Reader<'a> {
    /// Key of each line that was written, by the line.
    keys: HashMap<&'a str, &'a str>,
    met: HashSet<&'a str>,
}

impl<'a> Reader<'a> {
    fn new(last: &'a Written, heading: &str) -> Self {
        let own = last.rows.iter().filter(|row| same_heading(&row.id.section, heading));
        let keys = own.map(|row| (row.text.trim(), row.id.key.as_str())).collect();
        Self { keys, met: HashSet::new() }
    }

    /// The key of a line of the daemon's.
    fn take(&mut self, line: &str) -> Option<&'a str> {
        let key = self.keys.get(line.trim()).copied()?;
        self.met.insert(key);
        Some(key)
    }

    /// The heading may stand in the file more than once: its lines belong together.
    fn read(&mut self, lines: &[String], kept: &mut Kept) {
        let (mut open, mut blanks) = (false, 0);
        for line in lines {
            if line.trim().is_empty() {
                blanks += 1;
                continue;
            }
            if let Some(key) = self.take(line) {
                if !kept.order.iter().any(|known| known == key) {
                    kept.order.push(key.to_owned());
                }
                (open, blanks) = (false, 0);
                continue;
            }
            match kept.blocks.last_mut().filter(|_| open) {
                Some(block) => {
                    block.lines.extend(std::iter::repeat_n(String::new(), blanks));
                    block.lines.push(line.clone());
                }
                None => kept
                    .blocks
                    .push(Block { after: kept.order.last().cloned(), lines: vec![line.clone()] }),
            }
            (open, blanks) = (true, 0);
        }
    }

    /// Rows that are gone, by their keys and by their words: another strategy has other keys.
    fn missing(&self, heading: &str) -> Vec<RowId> {
        let gone = self.keys.iter().filter(|(_, key)| !self.met.contains(*key));
        let mut keys: Vec<String> = gone
            .flat_map(|(text, key)| {
                // A line of the template has no words of its own.
                let words = (!key.starts_with(TEMPLATE_KEY)).then(|| words_key(text));
                words.into_iter().chain([(*key).to_owned()])
            })
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().map(|key| RowId { section: heading.to_owned(), key }).collect()
    }
}
