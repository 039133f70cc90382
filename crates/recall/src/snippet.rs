//! Snippets: the part of a text that shows why it was found.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::terms::for_each_term;

/// Replaces text that was left out.
const GAP: char = '…';
/// Replaces a tab at the beginning of a line.
const TAB: &str = "    ";

/// Maximum number of lines of a snippet.
const LINES: usize = 3;

/// Returns the part of `text` that contains the largest number of `terms`: up to three lines and at most `max_chars`
/// characters, without control characters, blank lines or common indentation. An ellipsis marks where a line is cut.
/// Returns the beginning of the text if no term occurs.
pub fn snippet(text: &str, terms: &[String], max_chars: usize) -> String {
    let clean = clean(text);
    let lines = lines(&clean);
    let starts: Vec<usize> = clean.char_indices().map(|(at, _)| at).collect();
    if starts.len() <= max_chars && lines.len() <= LINES {
        return dedented(&clean);
    }
    let Some(room) = max_chars.checked_sub(2).filter(|room| *room > 0) else {
        return clean.chars().take_while(|c| *c != '\n').take(max_chars).collect();
    };
    let char_at = |byte: usize| starts.partition_point(|start| *start < byte);
    let mut hits: Vec<SnippetHit> = Vec::new();
    let places = places(terms);
    for_each_term(&clean, |term, range| {
        if let Some(&term) = places.get(term) {
            let (start, end) = (char_at(range.start), char_at(range.end));
            hits.push(SnippetHit { term, start, end, line: line_at(&lines, start) });
        }
    });
    let best = best_window(&hits, room);
    let around = lines_around(&lines, &best, room);
    let best_in_lines = (best.start - around.start, best.end - around.start);
    let window = widen(best_in_lines, room, around.len());
    let byte_at = |char: usize| starts.get(char).copied().unwrap_or(clean.len());
    let bytes = |chars: Range<usize>| byte_at(chars.start)..byte_at(chars.end);
    let window = bytes(around.start + window.start..around.start + window.end);
    dedented(&cut(&clean, window, bytes(best)))
}

/// Returns the character ranges of the words that have these terms, in order and without overlaps.
pub fn highlights(text: &str, terms: &[String]) -> Vec<[usize; 2]> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let terms: HashSet<&str> = terms.iter().map(String::as_str).collect();
    for_each_term(text, |term, range| {
        if terms.contains(term) {
            ranges.push(range);
        }
    });
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    let (mut byte, mut char) = (0, 0);
    let mut char_at = |at: usize| {
        char += text[byte..at].chars().count();
        byte = at;
        char
    };
    merged.into_iter().map(|range| [range.start, range.end].map(&mut char_at)).collect()
}

/// Returns the position of each term in a question. For a repeated term, this is the first position.
pub(crate) fn places(terms: &[String]) -> HashMap<&str, usize> {
    terms.iter().enumerate().rev().map(|(at, term)| (term.as_str(), at)).collect()
}

struct SnippetHit {
    term: usize,
    start: usize,
    end: usize,
    line: usize,
}

/// Finds the part with the most distinct terms (on a tie, the most hits), and returns the range from its first hit to
/// its last.
fn best_window(hits: &[SnippetHit], room: usize) -> Range<usize> {
    let mut best = ((0, 0), 0..0);
    let mut first = 0;
    for last in 0..hits.len() {
        let is_too_long = |first: &SnippetHit, last: &SnippetHit| {
            last.end.saturating_sub(first.start) > room || last.line - first.line >= LINES
        };
        while first < last && is_too_long(&hits[first], &hits[last]) {
            first += 1;
        }
        let inside = &hits[first..=last];
        let mut terms: Vec<usize> = inside.iter().map(|hit| hit.term).take(MAX_COUNTED).collect();
        terms.sort_unstable();
        terms.dedup();
        let worth = (terms.len(), inside.len().min(MAX_COUNTED));
        if worth > best.0 {
            best = (worth, hits[first].start..hits[last].end);
        }
    }
    best.1
}

/// Maximum number of hits that are counted in one part. A part with more hits probably just repeats the same words.
const MAX_COUNTED: usize = 32;

/// Returns the character range of each line of a text, without the line feed.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let range = |line: &str| {
        let range = start..start + line.chars().count();
        start = range.end + 1;
        range
    };
    text.split('\n').map(range).collect()
}

fn line_at(lines: &[Range<usize>], char: usize) -> usize {
    lines.partition_point(|line| line.end < char).min(lines.len().saturating_sub(1))
}

/// Returns the range of the lines that contain the hits, extended by the neighboring lines that fit in full.
fn lines_around(lines: &[Range<usize>], hits: &Range<usize>, room: usize) -> Range<usize> {
    let (mut first, mut last) = (line_at(lines, hits.start), line_at(lines, hits.end));
    for is_next in [true, false, true, false] {
        let (from, to) = match is_next {
            true => (first, last + 1),
            false => (first.saturating_sub(1), last),
        };
        let fits =
            to < lines.len() && to - from < LINES && lines[to].end - lines[from].start <= room;
        if fits {
            (first, last) = (from, to);
        }
    }
    lines[first].start..lines[last].end
}

/// Extends the range on both sides to a length of at most `room`.
fn widen((start, end): (usize, usize), room: usize, length: usize) -> Range<usize> {
    let spare = room.saturating_sub(end - start);
    let from = start.saturating_sub(spare / 2).min(length - room.min(length));
    from..(from + room).min(length)
}

/// Cuts at spaces, or at least between words, but never inside the range of the hits.
fn cut(text: &str, window: Range<usize>, hits: Range<usize>) -> String {
    let (mut start, mut end) = (window.start, window.end);
    let is_gap = |c: char| !c.is_alphanumeric();
    let cuts_word = |at: usize| {
        let next = text[at..].chars().next();
        at > 0
            && text[..at]
                .chars()
                .next_back()
                .zip(next)
                .is_some_and(|(a, b)| !is_gap(a) && !is_gap(b))
    };
    if cuts_word(start) {
        let before = &text[start..hits.start.max(start)];
        let gap = before.find(char::is_whitespace).or_else(|| before.find(is_gap));
        start += gap.map_or(0, |gap| gap + before[gap..].chars().next().map_or(0, char::len_utf8));
    }
    if cuts_word(end) {
        let held = hits.end.clamp(start, end);
        let after = &text[held..end];
        end = after
            .rfind(char::is_whitespace)
            .or_else(|| after.rfind(is_gap))
            .map_or(end, |gap| held + gap);
    }
    let mut out = String::with_capacity(end - start + 2 * GAP.len_utf8());
    let begins_line = start == 0 || text[..start].ends_with('\n');
    let ends_line = end == text.len() || text[end..].starts_with('\n');
    if begins_line {
        out.push_str(text[start..end].trim_end());
    } else {
        out.push(GAP);
        out.push_str(text[start..end].trim());
    }
    if !ends_line {
        out.push(GAP);
    }
    out
}

/// Removes control characters, terminal escapes and blank lines, and collapses white space between words.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut line = String::new();
    let mut is_blank = true;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut step = c.len_utf8();
        match c {
            '\u{1b}' => step = bethink_names::words::after_escape(rest.as_bytes(), 0),
            '\n' => {
                end_line(&mut out, &mut line);
                is_blank = true;
            }
            '\t' if is_blank => line.push_str(TAB),
            c if c.is_whitespace() => {
                if is_blank || !line.ends_with(' ') {
                    line.push(' ');
                }
            }
            c if c.is_control() || is_invisible(c) => {}
            c => {
                line.push(c);
                is_blank = false;
            }
        }
        rest = &rest[step..];
    }
    end_line(&mut out, &mut line);
    out
}

fn end_line(out: &mut String, line: &mut String) {
    let text = line.trim_end();
    if !text.is_empty() {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(text);
    }
    line.clear();
}

/// Removes the indentation that all lines have in common.
fn dedented(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let common = text.lines().map(indent).min().unwrap_or(0);
    let lines: Vec<&str> = text.lines().map(|line| &line[common..]).collect();
    lines.join("\n")
}

/// Characters that reorder or hide text in a terminal.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::query_terms;

    fn check(text: &str, question: &str, max_chars: usize, expect: &str) {
        assert_eq!(snippet(text, &query_terms(question), max_chars), expect, "{question}");
    }

    #[test]
    fn a_short_text_is_shown_whole() {
        check("all of it", "it", 20, "all of it");
        check("  a\n\tb  \u{1b}[31mred\u{1b}[0m\u{7}\u{202E}\r\n", "x", 20, "a\n  b red");
        check("", "x", 20, "");
    }

    #[test]
    fn the_window_holds_the_hits() {
        let text = "one two three four five six seven eight nine ten eleven twelve";
        check(text, "seven", 20, "…six seven eight…");
        check(text, "one", 14, "one two…");
        check(text, "twelve", 14, "…twelve");
        check(text, "nothing here", 14, "one two…");
        check(text, "two seven nine", 30, "…six seven eight nine ten…");
    }

    #[test]
    fn lines_are_kept_with_their_neighbours() {
        let code = "fn a() {\n    one();\n\n    two();\n    three();\n}\nfn beta() {}\n";
        check(code, "two", 200, "one();\ntwo();\nthree();");
        check(code, "one three", 200, "one();\ntwo();\nthree();");
        check(code, "a", 200, "fn a() {\n    one();\n    two();");
        check(code, "beta", 200, "    three();\n}\nfn beta() {}");
        // A neighbor that does not fit is left out; a line with a hit is cut.
        let long = format!("{}\nneedle\n{}", "x ".repeat(60), "y ".repeat(60));
        check(&long, "needle", 40, "needle");
        check(
            &format!("above\n{}needle {}", "x ".repeat(60), "y ".repeat(60)),
            "needle",
            20,
            "…x x x needle y y y…",
        );
    }

    #[test]
    fn different_terms_beat_repeated_ones() {
        let text =
            format!("lock lock lock lock {} lock daemon {}", "x ".repeat(50), "y ".repeat(50));
        let shown = snippet(&text, &query_terms("daemon lock"), 24);
        assert!(shown.contains("lock daemon"), "{shown}");
    }

    #[test]
    fn tiny_windows_do_not_fail() {
        for max in 0..4 {
            assert!(snippet("abc def ghi", &query_terms("def"), max).chars().count() <= max);
        }
    }

    #[test]
    fn names_are_found_by_their_parts() {
        let text = format!("{} crates/store/SessionFile.rs {}", "a ".repeat(60), "b ".repeat(60));
        let shown = snippet(&text, &query_terms("crates"), 40);
        assert!(shown.contains("crates/store…"), "{shown}");
        for question in ["session", "sessionfile", "SessionFile.rs", "store file"] {
            let shown = snippet(&text, &query_terms(question), 40);
            assert!(shown.contains("SessionFile.rs"), "{question}: {shown}");
        }
    }

    #[test]
    fn hits_are_marked_in_characters() {
        let marked = |text: &str, question: &str| {
            let chars: Vec<char> = text.chars().collect();
            let ranges = highlights(text, &query_terms(question));
            ranges.iter().map(|[a, b]| chars[*a..*b].iter().collect()).collect::<Vec<String>>()
        };
        assert_eq!(
            marked("é paints the SessionFile.rs", "painting session"),
            ["paints", "Session"]
        );
        assert_eq!(marked("the SessionFile.rs", "session sessionfile.rs"), ["SessionFile.rs"]);
        assert_eq!(marked("東京都庁", "京都"), ["京都"]);
        assert_eq!(marked("nothing", "else"), [""; 0]);
    }

    proptest! {
        #[test]
        fn never_longer_and_never_more_than_three_lines(
            text in "[a-z \\n\\u{1b}é漢.]{0,200}", terms in prop::collection::vec("[a-z]{2,3}", 0..4), max in 0usize..60,
        ) {
            let shown = snippet(&text, &terms, max);
            prop_assert!(shown.chars().count() <= max);
            prop_assert!(shown.lines().count() <= LINES);
            prop_assert!(!shown.contains(|c: char| c.is_control() && c != '\n'));
        }
    }
}
