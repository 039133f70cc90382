//! Notes written by a model: splits the edited document into rows.
//!
//! The model edits a copy ([`crate::edit`]). The rows are merged with the file like those of any strategy, so a
//! person's lines stay and removed ones do not come back, whatever the model did. Any text is accepted: the headings
//! come from the template, lines under other headings go to the section before them, a section that the model
//! dropped keeps its rows, and a section without rows gets those of the embedded strategy.

mod lines;

use std::collections::{HashMap, HashSet};

use bethink_transcript::text::plain;

use crate::budget::{NotesBudget, left_out, size};
use crate::document::{Document, same_heading};
use crate::draft::{
    DraftSection, NotesDraft, NotesRequest, NotesRow, NotesWriter, WriterError, words_key,
};
use crate::embedded::EmbeddedWriter;
use crate::template::{SectionKind, Template, TemplateSection};
use crate::written::WrittenNotes;
use lines::{NotesLine, readable};

pub const STRATEGY: &str = "model";
/// Notes that are larger than this many times the budget are refused, because the model has ignored the instruction.
const TIMES_BUDGET: u64 = 4;
/// Weight of the title, as in the embedded strategy: it is never shortened.
const TITLE_WEIGHT: u32 = 1_000;

/// Writes the notes that a model edited.
#[derive(Clone, Debug)]
pub struct ModelWriter {
    /// The notes that the model was given.
    pub before: String,
    /// The notes as the model left them.
    pub edited: String,
    /// What the daemon knew about the file when the model was given the notes.
    pub last: WrittenNotes,
    pub budget: NotesBudget,
}

impl NotesWriter for ModelWriter {
    fn strategy(&self) -> &'static str {
        STRATEGY
    }

    fn write(&self, request: &NotesRequest<'_>) -> Result<NotesDraft, WriterError> {
        let mut draft = self.draft(request.template);
        let limit = self.budget.total.saturating_mul(TIMES_BUDGET);
        let tokens: u64 = draft.sections.iter().map(|s| size(&s.rows)).sum();
        if tokens > limit {
            return Err(refused(format!(
                "its draft has {tokens} tokens; at most {limit} are accepted"
            )));
        }
        if draft.sections.iter().all(|section| section.rows.is_empty()) {
            return Err(refused("its draft is empty".to_owned()));
        }
        // The notes are said to cover the whole session, so facts fill what the model left empty.
        let facts = EmbeddedWriter.write(request)?.sections;
        for (section, facts) in draft.sections.iter_mut().zip(facts) {
            if section.rows.is_empty() {
                section.rows = facts.rows;
            }
        }
        if let Some(title) = request.title {
            let titles = draft.sections.iter_mut().filter(|s| s.kind == Some(SectionKind::Title));
            titles.for_each(|s| s.rows = vec![NotesRow::plain("title", title, TITLE_WEIGHT)]);
        }
        Ok(draft)
    }
}

fn refused(reason: String) -> WriterError {
    WriterError { strategy: STRATEGY, reason }
}

impl ModelWriter {
    fn draft(&self, template: &Template) -> NotesDraft {
        let edited = plain(&self.edited);
        let written = NotesDraft::from_written(template, &self.last);
        let by_section = self.lines_of(template, &edited);
        let sections = template.sections.iter().zip(by_section).zip(written.sections);
        let sections = sections.map(|((section, lines), written)| match lines {
            Some(lines) => self.section(section, &lines),
            None => written,
        });
        NotesDraft { sections: sections.collect() }
    }

    /// Returns the model's lines in each section; `None` for a section with neither heading nor lines.
    fn lines_of(&self, template: &Template, edited: &str) -> Vec<Option<Vec<NotesLine>>> {
        let document = template.read(edited);
        let persons = self.persons(template);
        let is_own = |line: &NotesLine| {
            let text = line.text.trim();
            !persons.lines.contains(text)
                && !template.is_description(text)
                && left_out(text).is_none()
        };
        let mut sections: Vec<Option<Vec<NotesLine>>> = vec![None; template.sections.len()];
        let first = document.parts.iter().find_map(|part| template.place(&part.heading));
        let mut at = first.unwrap_or(0);
        let mut add = |at: usize, lines: Vec<NotesLine>| {
            let Some(section) = sections.get_mut(at) else { return };
            section.get_or_insert_default().extend(lines.into_iter().filter(&is_own));
        };
        let preamble = readable(&document.preamble);
        if preamble.iter().any(&is_own) {
            add(at, preamble);
        }
        for part in &document.parts {
            match template.place(&part.heading) {
                Some(place) => at = place,
                None if persons.headings.iter().any(|own| same_heading(own, &part.heading)) => {}
                // A heading without a name has no content, and the next update would remove it.
                None if part.heading.is_empty() => {}
                None => add(at, vec![NotesLine::heading(&part.heading)]),
            }
            add(at, readable(&part.lines));
        }
        sections
    }

    fn section(&self, section: &TemplateSection, lines: &[NotesLine]) -> DraftSection {
        let mut keys: HashMap<&str, &str> = HashMap::new();
        for row in &self.last.rows {
            if same_heading(&row.id.section, &section.heading) {
                // Of several equal lines, the first has the key without a number.
                keys.entry(row.text.trim()).or_insert(&row.id.key);
            }
        }
        let mut seen = HashSet::new();
        let mut rows = Vec::with_capacity(lines.len());
        for line in lines {
            let key = keys.get(line.text.trim());
            let key = key.map_or_else(|| words_key(&line.text), |key| (*key).to_owned());
            // Code may contain equal lines.
            if seen.insert(key.clone()) || line.is_code {
                rows.push(NotesRow { key, text: harmless(&line.text), weight: 0 });
            }
        }
        weigh(section.kind, &mut rows);
        DraftSection::new(section.kind, rows)
    }

    /// Returns the person's part of the file, which stays without being written again.
    fn persons(&self, template: &Template) -> PersonsText<'_> {
        let ours: HashSet<&str> = self.last.rows.iter().map(|row| row.text.trim()).collect();
        let lines = self.before.lines().map(str::trim);
        let document = Document::parse(&self.before, template.level);
        let headings = document.parts.into_iter().map(|part| part.heading);
        PersonsText {
            lines: lines.filter(|line| !line.is_empty() && !ours.contains(line)).collect(),
            headings: headings.filter(|heading| template.place(heading).is_none()).collect(),
        }
    }
}

/// Returns the line without secrets, and without tags that would end or begin one of our own blocks in a prompt.
fn harmless(line: &str) -> String {
    let line = bethink_memdir::prompt::guarded(line);
    bethink_secrets::redact(&line).unwrap_or_else(|| line.into_owned())
}

struct PersonsText<'a> {
    lines: HashSet<&'a str>,
    /// Headings that are not in the template.
    headings: Vec<String>,
}

/// Gives the last lines of a log the highest weight, and the first lines of any other section.
fn weigh(kind: Option<SectionKind>, rows: &mut [NotesRow]) {
    let count = rows.len();
    for (at, row) in rows.iter_mut().enumerate() {
        let weight = if kind == Some(SectionKind::Worklog) { at + 1 } else { count - at };
        row.weight = u32::try_from(weight).unwrap_or(crate::budget::ALWAYS - 1);
    }
}
