//! Summaries from facts, without a model: nine sections in a byte budget, or the session's notes with additions.

mod files;
mod notes;
mod page;
mod rows;
mod searches;
mod select;
mod span;
mod statements;
mod tasks;
mod user_words;

use std::collections::HashSet;

use bethink_transcript::Seq;

use crate::SummaryLevel;
use crate::ladder::{Summarizer, SummaryRequest};
use crate::section::Section;
pub(crate) use page::NONE;
use page::SummaryPage;

pub use notes::{NotesSummarizer, SessionNotes};
pub(crate) use rows::open_work;
pub use span::{SPAN_AFTER, SPAN_STRATEGY, SpanRequest, write_span};
pub(crate) use user_words::user_words;

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
    let mut pages = Pages::default();
    let (words, shown) = user_words(request, request.user_bytes.min(room));
    let room = (room - words.len()).min(request.own_bytes);
    pages[Section::UserMessages as usize] = words;
    let mut spent = 0;
    for section in Section::ALL.into_iter().filter(|s| s.share() > 0) {
        let text = fixed_section(section, request, &shown, room * section.share() / 100);
        spent += text.len();
        pages[section as usize] = text;
    }
    let texts: Vec<&str> = pages.iter().map(String::as_str).collect();
    let (files, statements) = passages(request, &shown, &texts, room.saturating_sub(spent));
    pages[Section::Files as usize] = files;
    pages[Section::Solving as usize] = statements;
    render(&pages)
}

/// Writes passages from the edited files and from statements, in `room` bytes: those that say the most for their size
/// and that the `known` texts do not contain. Returns the two parts separately.
fn passages(
    request: &SummaryRequest<'_>,
    shown: &HashSet<Seq>,
    known: &[&str],
    room: usize,
) -> (String, String) {
    let place = files::place(request, room / 10);
    let room = room.saturating_sub(place.len());
    let mut groups = statements::groups(request, shown);
    let said = groups.len();
    groups.extend(files::groups(request));
    let of_files = groups.len();
    groups.extend(searches::groups(request));
    let rows = files::room_for_rows(&groups[said..of_files], room);
    let spent = select::choose(&mut groups, request.facts, known, room - rows);
    let found = statements::render(&groups.split_off(of_files));
    let files = groups.split_off(said);
    let files = place + &files::render(&files, room - spent) + &found;
    (files, statements::render(&groups))
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
    shown: &HashSet<Seq>,
    limit: usize,
) -> String {
    let mut page = SummaryPage::new(limit);
    match section {
        Section::Request => rows::request(&mut page, request, shown),
        Section::Concepts => rows::commands(&mut page, request),
        Section::Errors => rows::errors(&mut page, request),
        Section::Pending => tasks::pending(&mut page, request.facts),
        Section::Current => rows::current(&mut page, request),
        Section::Next => rows::next(&mut page, request),
        Section::Solving | Section::Files | Section::UserMessages => {}
    }
    page.finish()
}
