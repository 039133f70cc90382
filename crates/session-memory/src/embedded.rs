//! Notes without a model: each section is made from facts, and each row states one fact and the number of the message
//! that it comes from.
//!
//! A row's key identifies the fact, so a later wording replaces an earlier one. The row's weight decides how long it
//! stays when room is short: unfinished work, the user's words and recent events weigh most.

mod files;
mod page;
mod task;
mod trouble;
mod turns;
mod work;

use crate::draft::{DraftSection, NotesDraft, NotesRequest, NotesRow, NotesWriter, WriterError};
use crate::template::SectionKind;
use page::NotesContext;

/// The embedded strategy, which needs neither a model nor a network.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbeddedWriter;

impl NotesWriter for EmbeddedWriter {
    fn strategy(&self) -> &'static str {
        "embedded"
    }

    fn write(&self, request: &NotesRequest<'_>) -> Result<NotesDraft, WriterError> {
        let page = NotesContext::new(request);
        let sections = request.template.sections.iter().map(|section| {
            let rows = section.kind.map_or_else(Vec::new, |kind| rows(&page, kind));
            DraftSection::new(section.kind, rows)
        });
        Ok(NotesDraft { sections: sections.collect() })
    }
}

fn rows(page: &NotesContext<'_>, kind: SectionKind) -> Vec<NotesRow> {
    match kind {
        SectionKind::Title => task::title(page),
        SectionKind::CurrentState => work::current_state(page),
        SectionKind::Task => task::specification(page),
        SectionKind::Files => files::files(page),
        SectionKind::Workflow => work::workflow(page),
        SectionKind::Errors => trouble::errors(page),
        SectionKind::Docs => files::docs(page),
        SectionKind::Learnings => trouble::learnings(page),
        SectionKind::Results => work::results(page),
        SectionKind::Worklog => work::worklog(page),
    }
}
