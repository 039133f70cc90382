//! Writes the summary from a model's text: its sections, the user's words, and open work that it lacks.

use bethink_transcript::Seq;
use bethink_transcript::text::shorten;

use crate::SummaryLevel;
use crate::ladder::{Summarizer, SummaryRequest};
use crate::section::Section;
use crate::summary::{NONE, Pages, open_work, render, user_words};

use super::FullText;
use super::sections::close_fence;

#[derive(Clone, Copy, Debug)]
pub struct FullSummarizer<'a> {
    pub text: &'a FullText,
    /// The newest message that the model read; later ones are kept in full.
    pub through: Seq,
}

/// Percentage of the room that is reserved for open work missing from the model's text.
const OPEN_PERCENT: usize = 10;
const ADDED: &str = "Added from the session's history:\n";
/// Minimum room for a useful summary, in bytes.
const MIN_ROOM_BYTES: usize = 200;

impl Summarizer for FullSummarizer<'_> {
    fn level(&self) -> SummaryLevel {
        SummaryLevel::Full
    }

    fn covers(&self) -> Option<Seq> {
        Some(self.through)
    }

    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<String, String> {
        let frame: usize = Section::ALL.iter().map(|s| s.heading().len() + 1 + NONE.len()).sum();
        let room = request.max_bytes.saturating_sub(frame + 2 * ADDED.len());
        if room < MIN_ROOM_BYTES {
            return Err(format!(
                "a summary of at most {} bytes has no room for its nine sections",
                request.max_bytes
            ));
        }
        Ok(self.write(request, room))
    }
}

impl FullSummarizer<'_> {
    fn write(&self, request: &SummaryRequest<'_>, room: usize) -> String {
        let for_open = room * OPEN_PERCENT / 100;
        let (user, shown) = user_words(request, self.user_room(request, room - for_open));
        let mut pages = within(self.text, (room - user.len() - for_open).min(request.own_bytes));
        let texts: Vec<&str> = pages.iter().map(String::as_str).collect();
        let open = open_work(request, &shown, &texts, for_open);
        let pending = &mut pages[Section::Pending as usize];
        if !pending.is_empty() && !open.is_empty() {
            pending.push_str(ADDED);
        }
        pending.push_str(&open);
        pages[Section::UserMessages as usize] = user;
        render(&pages)
    }

    /// Returns the room for the user's words, in bytes: what the model's text leaves, but at least half of `room`, and
    /// at most what the request allows.
    fn user_room(&self, request: &SummaryRequest<'_>, room: usize) -> usize {
        (room / 2).max(room.saturating_sub(self.text.weight())).min(request.user_bytes)
    }
}

/// The order in which sections are cut. Each percentage is one pass: the minimum share of its length that a section keeps in
/// that pass. The sections that the next turn needs most are cut last.
const CUT_ORDER: [(&[Section], &[usize]); 2] = [
    (
        &[Section::Concepts, Section::Files, Section::Solving, Section::Errors, Section::Request],
        &[60, 30, 10, 0],
    ),
    (&[Section::Pending, Section::Current, Section::Next], &[50, 0]),
];

/// Cuts the sections to `room` bytes in total.
fn within(text: &FullText, room: usize) -> Pages {
    let mut pages = Section::ALL.map(|section| text.section(section).to_owned());
    for (order, shares) in CUT_ORDER {
        for share in shares {
            for section in order {
                let excess = pages.iter().map(String::len).sum::<usize>().saturating_sub(room);
                if excess == 0 {
                    return pages;
                }
                let (whole, page) = (text.section(*section), &mut pages[*section as usize]);
                let least = whole.len() * share / 100;
                *page = cut(whole, page.len().saturating_sub(excess).max(least).min(page.len()));
            }
        }
    }
    pages
}

/// Room for the line that says how much was left out, in bytes.
const NOTE_BYTES: usize = 64;
/// Minimum size of a line that is cut, in bytes.
const FEW_WORDS: usize = 40;

/// Cuts text to as many whole lines as fit in `limit` bytes, with a note of how many are left out. If the first line
/// is too long, keeps its beginning. Closes an open code fence.
fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let room = limit.saturating_sub(NOTE_BYTES);
    let mut kept = String::new();
    let fits = |line: &&str| {
        let fits = kept.len() + line.len() < room;
        if fits {
            kept.push_str(line);
            kept.push('\n');
        }
        fits
    };
    let more = text.lines().skip_while(fits).count();
    if kept.is_empty() {
        let Some(first) = text.lines().next().filter(|_| room >= FEW_WORDS) else { return kept };
        kept = format!("{}\n", shorten(first, room - '…'.len_utf8() - 1));
    }
    close_fence(&mut kept);
    let lines = if more == 1 { "line" } else { "lines" };
    format!("{kept}(… {more} more {lines} left out)\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: usize) -> FullText {
        let body: String = (0..lines).map(|n| format!("- line {n} of this section\n")).collect();
        let section = |s: &Section| format!("{}\n{body}", s.heading());
        let nine: String = Section::ALL.iter().map(section).collect();
        super::super::read(&format!("<summary>{nine}</summary>")).unwrap()
    }

    fn lines(pages: &Pages, section: Section) -> usize {
        let lines = pages[section as usize].lines();
        lines.filter(|line| line.starts_with("- line ")).count()
    }

    #[test]
    fn current_work_is_cut_last_and_all_sections_fit_the_room() {
        let text = text(40);
        for room in (0..text.weight() + 100).step_by(37) {
            let pages = within(&text, room);
            let used: usize = pages.iter().map(String::len).sum();
            assert!(used <= room, "{used} of {room}");
            let left = |section| lines(&pages, section);
            assert!(left(Section::Current) >= left(Section::Request), "{room}");
            assert!(left(Section::Request) >= left(Section::Concepts), "{room}");
            if left(Section::Next) < 40 {
                assert_eq!(left(Section::Solving), 0, "{room}");
            }
        }
        assert_eq!(lines(&within(&text, text.weight()), Section::Concepts), 40);
    }

    #[test]
    fn a_text_is_cut_at_a_line_end_unless_its_first_line_is_too_long() {
        let rows = "- one\n- two\n".repeat(20);
        assert!(cut(&rows, 120).ends_with("- two\n- one\n(… 31 more lines left out)\n"));
        let long = cut(&"word ".repeat(100), 150);
        assert!(
            long.starts_with("word ") && long.contains("…\n(… 1 more line left out)"),
            "{long}"
        );
        let code = format!("```rust\n{}```\n", "let x = 1;\n".repeat(30));
        let shown = cut(&code, 200);
        assert!(
            shown.len() <= 200 && bethink_transcript::text::open_fence(&shown).is_none(),
            "{shown}"
        );
        assert_eq!(cut(&rows, 20), "");
    }
}
