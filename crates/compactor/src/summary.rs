//! Summaries from facts, without a model: nine sections in a byte budget, or the notes of the session
//! with what they lack.

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
pub(crate) use page::NONE;
use page::{SummaryPage, WrittenSummary};

pub(crate) use names::lacking;
pub use notes::{NotesSummarizer, SessionNotes};
pub use span::{SPAN_AFTER, SPAN_STRATEGY, SpanRequest, write_span};
pub(crate) use user_words::{is_unanswered, user_messages};

/// The sections of every summary, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Request,
    Concepts,
    Files,
    Errors,
    Solving,
    UserMessages,
    Pending,
    Current,
    Next,
}

impl Section {
    pub const ALL: [Section; 9] = {
        use Section::*;
        [Request, Concepts, Files, Errors, Solving, UserMessages, Pending, Current, Next]
    };

    pub fn heading(self) -> &'static str {
        SECTIONS[self as usize].0
    }

    /// The heading without its marks and number.
    pub fn name(self) -> &'static str {
        self.heading().split_once(". ").map_or_else(|| self.heading(), |(_, name)| name)
    }

    fn share(self) -> usize {
        SECTIONS[self as usize].1
    }
}

/// Heading of each section, and the share of the budget, in percent, that it may take. Files and concepts get
/// what is left, which is two fifths at least: measured, names in rows are what the next hour draws on most.
const SECTIONS: [(&str, usize); 9] = [
    ("## 1. Primary Request and Intent", 9),
    ("## 2. Key Technical Concepts", 0),
    ("## 3. Files and Code Sections", 0),
    ("## 4. Errors and Fixes", 8),
    ("## 5. Problem Solving", 14),
    ("## 6. All User Messages", 14),
    ("## 7. Pending Tasks", 6),
    ("## 8. Current Work", 8),
    ("## 9. Optional Next Step", 2),
];

/// Share of the user's words when the newest of them is not answered: a giant request is what the next
/// turn is about.
const UNANSWERED_PERCENT: usize = 50;

/// All nine headings are there, in order, and something stands under them.
pub fn well_formed(summary: &str) -> bool {
    let mut rest = summary;
    let complete = Section::ALL.iter().all(|section| match rest.find(section.heading()) {
        Some(place) => {
            rest = &rest[place..];
            true
        }
        None => false,
    });
    let headings: usize = Section::ALL.iter().map(|s| s.heading().len() + 1).sum();
    complete && summary.len() > headings + 40
}

/// Writes summaries from facts alone.
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
    // Statements are chosen last of these, for what the others do not say yet.
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
    let (files, concepts) = lacking(request, written.known, &[], rest);
    pages[Section::Files as usize] = files;
    pages[Section::Concepts as usize] = concepts;
    laid_out(&pages)
}

/// The text of each section, in the order of [`Section::ALL`].
pub(crate) type Pages = [String; 9];

/// The summary with its headings.
pub(crate) fn laid_out(pages: &Pages) -> String {
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
