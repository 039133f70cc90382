//! The embedded summary: nine sections in a byte budget, from facts, without a model.

mod page;
mod rows;
mod user_words;

use std::collections::HashSet;

use bethink_transcript::Seq;

use crate::Level;
use crate::ladder::{Summarizer, SummaryRequest};
use page::Page;

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

    /// Share of the budget, in percent, that the section may take before names get the rest.
    fn share(self) -> usize {
        match self {
            Section::Request => 9,
            Section::Errors => 11,
            Section::Solving => 14,
            Section::UserMessages => 20,
            Section::Pending => 5,
            Section::Current => 9,
            Section::Next => 2,
            // What the others leave is shared by these two.
            Section::Concepts | Section::Files => 0,
        }
    }
}

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
}

fn write(request: &SummaryRequest<'_>) -> String {
    let facts = request.facts;
    let now = facts.through();
    let headings: usize = Section::ALL.iter().map(|s| s.heading().len() + 2).sum();
    let room = request.max_bytes.saturating_sub(headings);
    let mut pages: Vec<(Section, String)> = Vec::new();
    let mut spent = 0;
    for section in Section::ALL.into_iter().filter(|s| s.share() > 0) {
        let limit = room * section.share() / 100;
        let limit =
            if section == Section::UserMessages { limit.min(request.user_bytes) } else { limit };
        let text = fixed_section(section, request, limit);
        spent += text.len();
        pages.push((section, text));
    }
    let written: Vec<&str> = pages.iter().map(|(_, text)| text.as_str()).collect();
    let known = known_names(&written, request.visible);
    let rest = room.saturating_sub(spent);
    let (files, concepts) = rows::files_and_concepts(facts, now, &known, rest);
    pages.push((Section::Files, files));
    pages.push((Section::Concepts, concepts));
    let mut out = String::with_capacity(request.max_bytes);
    for section in Section::ALL {
        let text = pages.iter().find(|(s, _)| *s == section).map_or("", |(_, text)| text.as_str());
        out.push_str(section.heading());
        out.push('\n');
        out.push_str(if text.is_empty() { "- none\n" } else { text });
    }
    out.truncate(out.trim_end().len());
    out
}

fn fixed_section(section: Section, request: &SummaryRequest<'_>, limit: usize) -> String {
    let mut page = Page::new(limit);
    match section {
        Section::Request => rows::request(&mut page, request.facts, request.focus),
        Section::Errors => rows::errors(&mut page, request.facts),
        Section::Solving => rows::solving(&mut page, request.facts),
        Section::UserMessages => user_words::write(&mut page, &request.facts.user),
        Section::Pending => rows::pending(&mut page, request.facts),
        Section::Current => rows::current(&mut page, request.facts, request.kept_from),
        Section::Next => rows::next(&mut page, request.facts),
        Section::Concepts | Section::Files => {}
    }
    page.finish()
}

/// Names that a reader meets anyway: in the sections already written, and in the kept tail.
fn known_names(written: &[&str], visible: &HashSet<String>) -> HashSet<String> {
    let mut known = visible.clone();
    for text in written {
        crate::fidelity::collect(text, &mut known);
    }
    known
}

/// `[41]`: where a line of the summary comes from.
fn mark(seq: Seq) -> String {
    format!("[{seq}]")
}
