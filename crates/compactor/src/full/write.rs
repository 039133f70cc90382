//! Writes the summary from a model's text: its sections, the user's own words, and what the text lacks.

use std::collections::HashSet;

use bethink_transcript::Seq;
use bethink_transcript::text::shorten;

use crate::SummaryLevel;
use crate::ladder::{Summarizer, SummaryRequest};
use crate::section::Section;
use crate::summary::{
    NONE, Pages, UNANSWERED_PERCENT, is_unanswered, lacking, laid_out, user_messages,
};

use super::FullText;
use super::sections::close_fence;

#[derive(Clone, Copy, Debug)]
pub struct FullSummarizer<'a> {
    pub text: &'a FullText,
    /// The newest message that the model read; later ones are kept whole.
    pub through: Seq,
}

/// Share of the summary that the user's words may take, in percent, however long the model's text is.
const USER_PERCENT: usize = 25;
/// Of what they leave, the share of the model's text: files and names from facts always have some room.
const TEXT_PERCENT: usize = 85;
const ADDED: &str = "Added from the session's record:\n";
/// With less room than this, a summary would say nothing useful.
const LEAST_ROOM: usize = 200;

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
        if room < LEAST_ROOM {
            return Err(format!("{} bytes are not enough for nine sections", request.max_bytes));
        }
        Ok(self.write(request, room))
    }
}

impl FullSummarizer<'_> {
    fn write(&self, request: &SummaryRequest<'_>, room: usize) -> String {
        let user = user_messages(request, self.user_room(request, room));
        let mut pages = within(self.text, room.saturating_sub(user.len()) * TEXT_PERCENT / 100);
        let texts: Vec<&str> = pages.iter().chain([&user]).map(String::as_str).collect();
        let left = room.saturating_sub(texts.iter().map(|text| text.len()).sum());
        // Someone who reads the summary by itself does not see the tail.
        let known = if request.stands_alone { HashSet::new() } else { request.visible.clone() };
        let (files, names) = lacking(request, known, &texts, left);
        for (section, added) in [(Section::Files, files), (Section::Concepts, names)] {
            let page = &mut pages[section as usize];
            if !page.is_empty() && !added.is_empty() {
                page.push_str(ADDED);
            }
            page.push_str(&added);
        }
        pages[Section::UserMessages as usize] = user;
        laid_out(&pages)
    }

    /// Bytes for the user's words: their share, or half of what the model's text leaves if that is more.
    fn user_room(&self, request: &SummaryRequest<'_>, room: usize) -> usize {
        let percent = if is_unanswered(request) { UNANSWERED_PERCENT } else { USER_PERCENT };
        let left = room.saturating_sub(self.text.weight());
        (room * percent / 100).max(left / 2).min(request.user_bytes)
    }
}

/// Which sections are cut, in this order, and to what percentage of their length. Names and files can be
/// added from facts; what the next turn needs most is cut last.
const GIVES_WAY: [(&[Section], &[usize]); 2] = [
    (
        &[Section::Concepts, Section::Files, Section::Solving, Section::Errors, Section::Request],
        &[60, 30, 10, 0],
    ),
    (&[Section::Pending, Section::Current, Section::Next], &[50, 0]),
];

/// The sections, cut to `room` bytes together.
fn within(text: &FullText, room: usize) -> Pages {
    let mut pages = Section::ALL.map(|section| text.section(section).to_owned());
    for (order, shares) in GIVES_WAY {
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

/// Room for the line that says how much was left out.
const NOTE_BYTES: usize = 64;
/// A line that is cut keeps at least this many bytes.
const FEW_WORDS: usize = 40;

/// As many whole lines as fit in `limit` bytes, with a note of how many are left out. If the first line is
/// longer than that, its beginning. Closes code that the cut left open.
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
    format!("{kept}(… {more} more lines left out)\n")
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
    fn what_one_goes_on_by_is_cut_last_and_all_is_within_room() {
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
    fn a_cut_is_at_a_line_end_unless_one_line_is_over_and_closes_code() {
        let rows = "- one\n- two\n".repeat(20);
        assert!(cut(&rows, 120).ends_with("- two\n- one\n(… 31 more lines left out)\n"));
        let long = cut(&"word ".repeat(100), 150);
        assert!(long.starts_with("word ") && long.contains("…\n(… 1 more lines"), "{long}");
        let code = format!("```rust\n{}```\n", "let x = 1;\n".repeat(30));
        let shown = cut(&code, 200);
        assert!(
            shown.len() <= 200 && bethink_transcript::text::open_fence(&shown).is_none(),
            "{shown}"
        );
        assert_eq!(cut(&rows, 20), "");
    }
}
