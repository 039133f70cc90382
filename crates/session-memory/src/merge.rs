//! A three-way merge of the daemon's last version, the file as it is now, and the new draft.
//!
//! A line that the daemon did not write is a person's. It keeps its place: in its section, after the line that it
//! followed. If one of the daemon's lines is gone, a person removed it; its row is remembered and never written again,
//! in any wording. A changed line counts as one removed and one written by a person. If the file contains none of the
//! template's headings, the person started over: nothing counts as removed, and any prose stays at the top.

mod overlay;

use crate::budget::{ALWAYS, NotesBudget};
use crate::document::{Document, NotesSection};
use crate::draft::{DraftSection, NotesDraft, NotesRow};
use crate::template::Template;
use crate::written::{RowId, TEMPLATE_KEY, WrittenNotes, WrittenRow};
use overlay::Overlay;

/// Number of removed rows that are remembered; older ones are dropped. Rows cover recent history, so a row that was
/// removed long ago would not be written again anyway.
const MAX_REMOVED: usize = 5_000;

/// The new text of the file, and the record that the next merge needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    pub text: String,
    pub written: WrittenNotes,
}

/// Merges `draft` into `file`, within the budget.
pub fn update(
    template: &Template,
    draft: NotesDraft,
    last: &WrittenNotes,
    file: Option<&str>,
    budget: &NotesBudget,
) -> Updated {
    let overlay = Overlay::read(template, last, file.unwrap_or_default());
    let mut draft = with_descriptions(template, draft);
    overlay.strike(template, &mut draft);
    let (kept, elsewhere) = overlay.sizes(template);
    budget.trim(&mut draft, &kept, elsewhere);
    weave(template, &draft, &overlay)
}

/// Adds the template's own lines before each section's rows.
fn with_descriptions(template: &Template, draft: NotesDraft) -> NotesDraft {
    let mut drafted = draft.sections.into_iter();
    let sections = template.sections.iter().map(|section| {
        let own = drafted.next().unwrap_or_default();
        let described =
            section.description.iter().enumerate().filter(|(_, l)| !l.trim().is_empty());
        let described = described.map(|(at, line)| NotesRow {
            key: format!("{TEMPLATE_KEY}{at}"),
            text: line.clone(),
            weight: ALWAYS,
        });
        DraftSection { kind: section.kind, rows: described.chain(own.rows).collect() }
    });
    NotesDraft { sections: sections.collect() }
}

fn weave(template: &Template, draft: &NotesDraft, overlay: &Overlay) -> Updated {
    let mut document =
        Document { preamble: overlay.preamble.clone(), parts: Vec::new(), crlf: overlay.crlf };
    let mut written = WrittenNotes { rows: Vec::new(), removed: overlay.removed.clone() };
    document.parts.extend(overlay.extras_after(None));
    for (at, section) in template.sections.iter().enumerate() {
        let rows = draft.sections.get(at).map_or(&[][..], |drafted| &drafted.rows);
        let lines = overlay.merged_lines(at, rows);
        let (heading, raw) = (section.heading.clone(), String::new());
        document.parts.push(NotesSection { heading, raw, lines });
        document.parts.extend(overlay.extras_after(Some(at)));
        written.rows.extend(rows.iter().map(|row| WrittenRow {
            id: RowId { section: section.heading.clone(), key: row.key.clone() },
            text: row.text.clone(),
        }));
    }
    let excess = written.removed.len().saturating_sub(MAX_REMOVED);
    written.removed.drain(..excess);
    Updated { text: document.render(template.level), written }
}
