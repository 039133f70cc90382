//! Summaries from facts, without a model: nine sections in a byte budget, or the session's notes with additions.

mod choose;
mod code;
mod names;
mod notes;
mod page;
mod rows;
mod span;
mod user_words;

use std::collections::HashSet;

use crate::SummaryLevel;
use crate::ladder::{Summarizer, SummaryRequest};
use crate::section::Section;
pub(crate) use page::NONE;
use page::{SummaryPage, WrittenSummary};

pub(crate) use names::files_and_names;
pub use notes::{NotesSummarizer, SessionNotes};
pub use span::{SPAN_AFTER, SPAN_STRATEGY, SpanRequest, write_span};
pub(crate) use user_words::{is_unanswered, user_messages};

/// Percentage for the user's words while the newest message is unanswered: the next turn is about it, however long it
/// is.
pub(crate) const UNANSWERED_PERCENT: usize = 50;

/// Writes summaries from facts only.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbeddedSummarizer;

impl Summarizer for EmbeddedSummarizer {
    fn level(&self) -> SummaryLevel {
        SummaryLevel::Embedded
    }

    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<String, String> {
        Ok(write(request))
    }
}

fn write(request: &SummaryRequest<'_>) -> String {
    let headings: usize = Section::ALL.iter().map(|s| s.heading().len() + 2).sum();
    let room = request.max_bytes.saturating_sub(headings);
    let mut written = WrittenSummary { known: HashSet::new(), user_from: None };
    if !request.stands_alone {
        written.known.clone_from(request.visible);
    }
    let mut pages = Pages::default();
    let mut spent = 0;
    // Statements are chosen last, because they should add what the other sections lack.
    let mut order: Vec<Section> = Section::ALL.into_iter().filter(|s| s.share() > 0).collect();
    order.sort_by_key(|section| *section == Section::Solving);
    for section in order {
        let mut limit = room * section.share() / 100;
        if section == Section::UserMessages && user_words::is_unanswered(request) {
            limit = room * UNANSWERED_PERCENT / 100;
        }
        let text = fixed_section(section, request, limit, &mut written);
        crate::fidelity::collect(&text, &mut written.known);
        spent += text.len();
        pages[section as usize] = text;
    }
    let rest = room.saturating_sub(spent);
    let (files, concepts) = files_and_names(request, written.known, &[], rest);
    pages[Section::Files as usize] = files;
    pages[Section::Concepts as usize] = concepts;
    render(&pages)
}

/// The text of each section, in the order of [`Section::ALL`].
pub(crate) type Pages = [String; 9];

/// Renders the summary with its headings.
pub(crate) fn render(pages: &Pages) -> String {
    let mut out = String::new();
    for (section, text) in Section::ALL.into_iter().zip(pages) {
        let text = if text.is_empty() { NONE } else { text };
        out.push_str(&format!("{}\n{text}", section.heading()));
    }
    out.truncate(out.trim_end().len());
    out
}

fn fixed_section(
    section: Section,
    request: &SummaryRequest<'_>,
    limit: usize,
    written: &mut WrittenSummary,
) -> String {
    let mut page = SummaryPage::new(limit);
    match section {
        Section::Request => rows::request(&mut page, request),
        Section::Errors => rows::errors(&mut page, request),
        Section::Solving => choose::statements(&mut page, request, written),
        Section::UserMessages => {
            let limit = limit.min(request.user_bytes);
            written.user_from = user_words::write(&mut page, request, limit);
        }
        Section::Pending => rows::pending(&mut page, request.facts),
        Section::Current => rows::current(&mut page, request),
        Section::Next => rows::next(&mut page, request.facts),
        Section::Concepts | Section::Files => {}
    }
    page.finish()
}
