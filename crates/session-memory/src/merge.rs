//! Three texts become one: what the daemon wrote last, what the file is now, what would be written.
//!
//! A line of the file that the daemon did not write is a person's and stays where it is: in its
//! section, after the line that it followed. A line of the daemon's that is gone from the file was
//! removed by a person; its row is remembered and never written again, however it would be worded. A
//! line that a person changed is both. A file that was emptied, or that holds prose without a single
//! heading of the template, was begun anew rather than pruned: nothing counts as removed, and the prose
//! stays at the top.

mod overlay;

use crate::budget::{ALWAYS, NotesBudget};
use crate::document::{Document, NotesSection};
use crate::draft::{DraftSection, NotesDraft, NotesRow};
use crate::template::Template;
use crate::written::{RowId, TEMPLATE_KEY, WrittenNotes, WrittenRow};
use overlay::Overlay;

/// Removed rows that are remembered; the oldest go beyond it. Rows speak of a window of history, so
/// what was removed long ago is not written again anyway.
const MAX_REMOVED: usize = 5_000;
/// The file as it is to be written, and what to know of it next time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    pub text: String,
    pub written: WrittenNotes,
}

/// Writes `draft` into `file`, within the budget.
pub fn update(
    template: &Template,
    draft: NotesDraft,
    last: &WrittenNotes,
    file: Option<&str>,
    budget: &NotesBudget,
) -> Updated {
    let overlay = Overlay::read(template, last, file.unwrap_or_default());
    let mut draft = described(template, draft);
    overlay.strike(template, &mut draft);
    let (kept, elsewhere) = overlay.sizes(template);
    budget.trim(&mut draft, &kept, elsewhere);
    weave(template, &draft, &overlay)
}

/// The draft with the template's own lines before each section's rows.
fn described(template: &Template, draft: NotesDraft) -> NotesDraft {
    let mut drafted = draft.sections.into_iter();
    let sections = template.sections.iter().map(|section| {
        let own = drafted.next().unwrap_or_default();
        let described =
            section.description.iter().enumerate().filter(|(_, l)| !l.trim().is_empty());
        let mut rows: Vec<NotesRow> = described
            .map(|(at, line)| NotesRow {
                key: format!("{TEMPLATE_KEY}{at}"),
                text: line.clone(),
                weight: ALWAYS,
            })
            .collect();
        rows.extend(own.rows);
        DraftSection { kind: section.kind, rows }
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
        let lines = overlay.woven(at, rows);
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
