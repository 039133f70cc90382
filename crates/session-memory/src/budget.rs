//! The maximum size of notes, and the order in which they are shortened.

use bethink_tokens::text_tokens;
use bethink_transcript::text::beginning;

use crate::document::{Document, NotesSection, trimmed};
use crate::draft::{DraftSection, NotesDraft, NotesRow};
use crate::template::{SectionKind, Template};

/// Maximum number of tokens in one section, and in the whole file.
pub const SECTION_TOKENS: u64 = 2_000;
pub const TOTAL_TOKENS: u64 = 12_000;
/// Notes use at most an eighth of a window, which leaves room for the kept messages and for work.
const WINDOW_SHARE: u64 = 8;
/// Minimum budget for any window, in tokens: less would be useless.
const MIN_TOTAL: u64 = 900;
/// A person's text is never cut in the file. The daemon's lines get at least a quarter of each limit, which leaves room
/// for the newest state.
const OWN_SHARE: u64 = 4;
/// Weight of lines that are never dropped, such as those of the template.
pub(crate) const ALWAYS: u32 = u32::MAX;

/// The order in which sections are shortened, in two groups. `None` is a person's own section. The title is never
/// shortened.
const TRIM_ORDER: [&[Option<SectionKind>]; 2] = {
    use SectionKind::*;
    [
        &[
            None,
            Some(Worklog),
            Some(Results),
            Some(Learnings),
            Some(Docs),
            Some(Workflow),
            Some(Files),
            Some(Task),
        ],
        &[Some(Errors), Some(CurrentState)],
    ]
};
/// The percentage of its limit to which a section is shortened in each round.
const SHARES: [u64; 5] = [70, 45, 25, 10, 0];

/// Maximum number of tokens in one section, and in the whole notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotesBudget {
    pub section: u64,
    pub total: u64,
}

impl Default for NotesBudget {
    fn default() -> Self {
        Self { section: SECTION_TOKENS, total: TOTAL_TOKENS }
    }
}

impl NotesBudget {
    /// Returns the full budget if it fits the window, or a proportionally smaller one.
    pub fn for_window(window: u64) -> Self {
        let total = (window / WINDOW_SHARE).clamp(MIN_TOTAL, TOTAL_TOKENS);
        Self { section: (total * SECTION_TOKENS / TOTAL_TOKENS).max(1), total }
    }

    /// Shortens a draft until it fits next to a person's text, which takes `kept` tokens in each section and
    /// `elsewhere` tokens outside all sections.
    pub fn trim(&self, draft: &mut NotesDraft, kept: &[u64], elsewhere: u64) {
        let kept_in = |at: usize| kept.get(at).copied().unwrap_or(0);
        for (at, section) in draft.sections.iter_mut().enumerate() {
            let room = self.section.saturating_sub(kept_in(at)).max(self.section / OWN_SHARE);
            shorten(section, room);
        }
        let all_kept = elsewhere + kept.iter().sum::<u64>();
        let room = self.total.saturating_sub(all_kept).max(self.total / OWN_SHARE);
        let fits =
            |draft: &NotesDraft| draft.sections.iter().map(|s| size(&s.rows)).sum::<u64>() <= room;
        for (kind, share) in trim_order() {
            if fits(draft) {
                return;
            }
            for section in draft.sections.iter_mut().filter(|s| s.kind == kind) {
                shorten(section, self.section * share / 100);
            }
        }
    }

    /// Shortens the notes for a prompt to the budget, with a reference to the full text.
    pub fn cut(&self, text: &str, template: &Template, whole_at: &str) -> String {
        if u64::from(text_tokens(text)) <= self.total {
            return text.to_owned();
        }
        let mut document = template.read(text);
        let cutter = Cutter { whole_at };
        document.preamble = cutter.head(&document.preamble, self.section);
        cutter.drop_own_sections(&mut document, template, self.total);
        let kind = |part: &NotesSection| template.sections[template.place(&part.heading)?].kind;
        let kinds: Vec<_> = document.parts.iter().map(kind).collect();
        for (part, kind) in document.parts.iter_mut().zip(&kinds) {
            part.lines = cutter.within(part, *kind, self.section);
        }
        let mut shown = document.render(template.level);
        for (wanted, share) in trim_order() {
            if u64::from(text_tokens(&shown)) <= self.total {
                return shown;
            }
            let room = self.section * share / 100;
            for (part, kind) in document.parts.iter_mut().zip(&kinds) {
                if *kind == wanted {
                    part.lines = cutter.within(part, *kind, room);
                }
            }
            shown = document.render(template.level);
        }
        // Notes with thousands of headings are still too long, and are cut as one text.
        let bytes = usize::try_from(self.total * 2).unwrap_or(usize::MAX);
        format!("{}\n{}\n", beginning(&shown, bytes), cutter.note(0))
    }
}

/// Returns the steps of shortening: a kind of section, and the percentage to which it is shortened.
fn trim_order() -> impl Iterator<Item = (Option<SectionKind>, u64)> {
    TRIM_ORDER.into_iter().flat_map(|kinds| {
        let round = |share| kinds.iter().map(move |kind| (*kind, share));
        SHARES.into_iter().flat_map(round)
    })
}

fn cost(row: &NotesRow) -> u64 {
    u64::from(text_tokens(&row.text)) + 1
}

pub(crate) fn size(rows: &[NotesRow]) -> u64 {
    rows.iter().filter(|row| row.weight != ALWAYS).map(cost).sum()
}

/// Drops the rows with the lowest weight, oldest first, until the others fit `room`.
fn shorten(section: &mut DraftSection, room: u64) {
    let mut left = size(&section.rows);
    let mut order: Vec<usize> = (0..section.rows.len()).collect();
    order.sort_by_key(|at| section.rows.get(*at).map_or(ALWAYS, |row| row.weight));
    let mut gone = vec![false; section.rows.len()];
    for at in order {
        let Some(row) = section.rows.get(at).filter(|row| row.weight != ALWAYS) else { continue };
        if left <= room {
            break;
        }
        left = left.saturating_sub(cost(row));
        gone[at] = true;
    }
    let mut gone = gone.into_iter();
    section.rows.retain(|_| gone.next() == Some(false));
}

/// Cuts lines, and adds a line that says how many were left out.
struct Cutter<'a> {
    /// Where the full text is.
    whole_at: &'a str,
}

impl Cutter<'_> {
    fn within(&self, part: &NotesSection, kind: Option<SectionKind>, room: u64) -> Vec<String> {
        if kind != Some(SectionKind::Worklog) {
            return self.head(&part.lines, room);
        }
        // The newest lines of a log matter most.
        let newest_first: Vec<String> = part.lines.iter().rev().cloned().collect();
        let mut lines = self.head(&newest_first, room);
        lines.reverse();
        lines
    }

    /// Returns the first lines that fit `room`, and a note of how many were left out.
    fn head(&self, lines: &[String], room: u64) -> Vec<String> {
        let lines = trimmed(lines);
        let mut left = room;
        let mut kept = Vec::new();
        let earlier: usize = lines.iter().filter_map(|line| left_out(line)).sum();
        for (at, line) in lines.iter().enumerate() {
            if left_out(line).is_some() {
                continue;
            }
            let cost = u64::from(text_tokens(line)) + 1;
            if cost > left {
                // Two bytes per token is safe for any kind of text.
                let bytes = usize::try_from(left * 2).unwrap_or(usize::MAX);
                if kept.is_empty() && bytes > 80 {
                    kept.push(format!("{}…", beginning(line, bytes)));
                }
                let rest = lines[at..].iter().filter(|l| !l.trim().is_empty()).count();
                let out = rest.saturating_sub(usize::from(!kept.is_empty() && at == 0));
                kept.push(self.note((earlier + out).max(1)));
                return kept;
            }
            left -= cost;
            kept.push(line.clone());
        }
        if earlier > 0 {
            kept.push(self.note(earlier));
        }
        kept
    }

    /// Drops a person's own sections if the headings need more than `room`, because the current state must not be
    /// lost.
    fn drop_own_sections(&self, document: &mut Document, template: &Template, room: u64) {
        let cost = |part: &NotesSection| u64::from(text_tokens(&part.heading)) + 2;
        if document.parts.iter().map(cost).sum::<u64>() <= room {
            return;
        }
        let mut dropped = 0;
        document.parts.retain(|part| {
            let stays = template.place(&part.heading).is_some();
            let lines = part.lines.iter().filter(|line| !line.trim().is_empty()).count();
            dropped += if stays { 0 } else { 1 + lines };
            stays
        });
        if dropped > 0 {
            document.preamble.push(self.note(dropped));
        }
    }

    fn note(&self, lines: usize) -> String {
        let word = if lines == 1 { "line" } else { "lines" };
        format!("{LEFT_OUT}{lines} {word}; the full text is in {})", self.whole_at)
    }
}

/// Prefix of a line that replaces others in a text that was cut for a prompt.
const LEFT_OUT: &str = "… (left out here: ";

/// Returns how many lines this line replaces, if it begins with [`LEFT_OUT`].
pub(crate) fn left_out(line: &str) -> Option<usize> {
    line.strip_prefix(LEFT_OUT)?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(rows: usize) -> NotesDraft {
        let template = Template::default();
        let sections = template.sections.iter().map(|section| {
            let rows =
                (0..rows).map(|n| NotesRow::item(format!("{n}"), &"word ".repeat(40), n as u32));
            DraftSection::new(section.kind, rows.collect())
        });
        NotesDraft { sections: sections.collect() }
    }

    fn tokens(draft: &NotesDraft, kind: SectionKind) -> u64 {
        let section = draft.sections.iter().find(|s| s.kind == Some(kind)).unwrap();
        size(&section.rows)
    }

    fn total(draft: &NotesDraft) -> u64 {
        draft.sections.iter().map(|s| size(&s.rows)).sum()
    }

    #[test]
    fn sections_and_the_whole_stay_within_their_budgets() {
        let mut draft = draft(60);
        NotesBudget::default().trim(&mut draft, &[], 0);
        assert!(total(&draft) <= TOTAL_TOKENS, "{}", total(&draft));
        assert!(tokens(&draft, SectionKind::CurrentState) > 1_900);
        assert!(tokens(&draft, SectionKind::Errors) > 1_900);
        assert!(tokens(&draft, SectionKind::Worklog) < tokens(&draft, SectionKind::Task));
        let log = &draft.sections[9].rows;
        assert_eq!(
            log.last().map(|row| row.weight),
            Some(59),
            "the rows with the highest weight stay"
        );
    }

    #[test]
    fn current_state_and_errors_are_the_last_to_be_trimmed() {
        let small = NotesBudget { section: 2_000, total: 3_000 };
        let mut tight = draft(60);
        small.trim(&mut tight, &[], 0);
        assert!(total(&tight) <= 3_000);
        assert_eq!(tokens(&tight, SectionKind::Task), 0);
        assert!(tokens(&tight, SectionKind::Errors) > 0);
        assert!(tokens(&tight, SectionKind::CurrentState) >= tokens(&tight, SectionKind::Errors));
    }

    #[test]
    fn a_persons_lines_take_room_but_never_all() {
        let mut beside = draft(60);
        let kept: Vec<u64> = (0..10).map(|_| 1_000_000).collect();
        NotesBudget::default().trim(&mut beside, &kept, 0);
        assert!(tokens(&beside, SectionKind::CurrentState) > 300);
        assert!(total(&beside) <= TOTAL_TOKENS / OWN_SHARE);
    }

    #[test]
    fn small_windows_have_small_notes() {
        assert_eq!(NotesBudget::for_window(200_000), NotesBudget::default());
        let small = NotesBudget::for_window(30_000);
        assert_eq!((small.total, small.section), (3_750, 625));
        assert_eq!(NotesBudget::for_window(8_000).total, 1_000);
    }

    fn cut(text: &str) -> String {
        NotesBudget::default().cut(text, &Template::default(), "FILE")
    }

    #[test]
    fn a_prompt_gets_at_most_the_budget_and_a_reference_to_the_full_text() {
        let long = "hand-written line\n".repeat(60_000);
        let state = format!("# Current State\n- alive\n# Worklog\n{long}- newest\n");
        for text in [
            long.clone(),
            "x".repeat(1 << 20),
            "记".repeat(300_000),
            state.clone(),
            "# Own\ntext\n\n".repeat(50_000),
            format!("# Errors & Corrections\n{long}# Current State\n{long}"),
        ] {
            let shown = cut(&text);
            assert!(u64::from(text_tokens(&shown)) <= TOTAL_TOKENS + 100, "{}", shown.len());
            assert!(shown.contains("FILE"), "{}", &shown[..200]);
        }
        let headings = cut(&format!("{}{state}", "# Own\ntext\n\n".repeat(50_000)));
        assert!(headings.contains("- alive") && headings.contains("100000 lines"), "{headings}");
        let shown = cut(&state);
        assert!(shown.contains("- alive") && shown.contains("- newest"), "{shown}");
        assert_eq!(cut("# A\nshort\n"), "# A\nshort\n");
    }
}
