//! Summaries from facts, without a model: nine sections in a byte budget, or the notes of the session
//! with what they lack.
//!
//! Reading order: [`sections`](self) here → `rows` (what stands in each) → `choose` (which statements
//! are worth their bytes) → `code` → `names` (files and names, by predicted need) → `user_words` →
//! `beside` → `notes` → `span` (a stretch alone, for context collapse).

mod beside;
mod choose;
mod code;
mod names;
mod notes;
mod page;
mod rows;
mod span;
mod user_words;

use std::collections::HashSet;

use bethink_transcript::Seq;

use crate::Level;
use crate::ladder::{Summarizer, SummaryRequest};
use page::Page;

pub(crate) use beside::{lacking, user_messages};
pub use notes::{Notes, NotesSummarizer};
pub use span::{EmbeddedSpanWriter, SPAN_AFTER, SpanRequest, SpanWriter};
pub(crate) use user_words::is_unanswered;

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
    pub const ALL: [Section; 9] = [
        Section::Request,
        Section::Concepts,
        Section::Files,
        Section::Errors,
        Section::Solving,
        Section::UserMessages,
        Section::Pending,
        Section::Current,
        Section::Next,
    ];

    pub fn heading(self) -> &'static str {
        match self {
            Section::Request => "## 1. Primary Request and Intent",
            Section::Concepts => "## 2. Key Technical Concepts",
            Section::Files => "## 3. Files and Code Sections",
            Section::Errors => "## 4. Errors and Fixes",
            Section::Solving => "## 5. Problem Solving",
            Section::UserMessages => "## 6. All User Messages",
            Section::Pending => "## 7. Pending Tasks",
            Section::Current => "## 8. Current Work",
            Section::Next => "## 9. Optional Next Step",
        }
    }

    /// The heading without its marks and number.
    pub fn name(self) -> &'static str {
        self.heading().split_once(". ").map_or_else(|| self.heading(), |(_, name)| name)
    }

    /// Share of the budget, in percent, that the section may take. Files and concepts get what is left,
    /// which is two fifths at least: measured, names in rows are what the next hour draws on most.
    fn share(self) -> usize {
        match self {
            Section::Request => 9,
            Section::Errors => 8,
            Section::Solving => 14,
            Section::UserMessages => 14,
            Section::Pending => 6,
            Section::Current => 8,
            Section::Next => 2,
            Section::Concepts | Section::Files => 0,
        }
    }
}

/// Share of the user's words when the newest of them is not answered: a giant request is what the next
/// turn is about.
const UNANSWERED_PERCENT: usize = 50;

/// What stands in a section of which there is nothing to say.
pub(crate) const NONE: &str = "- none\n";

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
    fn level(&self) -> Level {
        Level::Embedded
    }

    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<String, String> {
        Ok(write(request))
    }

    fn is_well_formed(&self, summary: &str) -> bool {
        well_formed(summary)
    }
}

fn write(request: &SummaryRequest<'_>) -> String {
    let headings: usize = Section::ALL.iter().map(|s| s.heading().len() + 2).sum();
    let room = request.max_bytes.saturating_sub(headings);
    let mut written = Written { known: HashSet::new(), user_from: None };
    if !request.stands_alone {
        written.known.clone_from(request.visible);
    }
    let mut pages: Vec<(Section, String)> = Vec::new();
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
        pages.push((section, text));
    }
    let rest = room.saturating_sub(spent);
    let (files, concepts) = names::files_and_concepts(request, &written.known, rest);
    pages.push((Section::Files, files));
    pages.push((Section::Concepts, concepts));
    let mut out = String::with_capacity(request.max_bytes);
    for section in Section::ALL {
        let text = pages.iter().find(|(s, _)| *s == section).map_or("", |(_, text)| text.as_str());
        out.push_str(section.heading());
        out.push('\n');
        out.push_str(if text.is_empty() { NONE } else { text });
    }
    out.truncate(out.trim_end().len());
    out
}

/// What a reader knows already.
struct Written {
    known: HashSet<String>,
    /// The user's words stand there from this message on.
    user_from: Option<Seq>,
}

fn fixed_section(
    section: Section,
    request: &SummaryRequest<'_>,
    limit: usize,
    written: &mut Written,
) -> String {
    let mut page = Page::new(limit);
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
