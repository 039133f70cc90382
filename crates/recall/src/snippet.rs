//! Snippets: the part of a text that shows why it was found.

use std::ops::Range;

use crate::terms::for_each_term;

/// Replaces text that was left out.
const GAP: char = '…';

/// Returns the part of a text with the most of `terms`, of at most `max_chars` characters, on one line, without control
/// characters, cut between words. If no term occurs, returns the beginning of the text.
pub fn snippet(text: &str, terms: &[String], max_chars: usize) -> String {
    let flat = flatten(text);
    let starts: Vec<usize> = flat.char_indices().map(|(at, _)| at).collect();
    if starts.len() <= max_chars {
        return flat;
    }
    let Some(room) = max_chars.checked_sub(2).filter(|room| *room > 0) else {
        return flat.chars().take(max_chars).collect();
    };
    let char_at = |byte: usize| starts.partition_point(|start| *start < byte);
    let mut hits: Vec<SnippetHit> = Vec::new();
    for_each_term(&flat, |term, range| {
        if let Some(term) = terms.iter().position(|wanted| wanted == term) {
            hits.push(SnippetHit { term, start: char_at(range.start), end: char_at(range.end) });
        }
    });
    let best = best_window(&hits, room);
    let byte_at = |char: usize| starts.get(char).copied().unwrap_or(flat.len());
    let window = widen(best, room, starts.len());
    cut(&flat, byte_at(window.start)..byte_at(window.end), byte_at(best.0)..byte_at(best.1))
}

/// Returns the ranges of words with these terms, in characters, in order and without overlaps.
pub fn highlights(text: &str, terms: &[String]) -> Vec<[usize; 2]> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for_each_term(text, |term, range| {
        if terms.iter().any(|wanted| wanted == term) {
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
    let chars = |byte: usize| text[..byte].chars().count();
    merged.into_iter().map(|range| [chars(range.start), chars(range.end)]).collect()
}

struct SnippetHit {
    term: usize,
    start: usize,
    end: usize,
}

/// Returns the range of hits in the part with the most different terms, or else the most hits.
fn best_window(hits: &[SnippetHit], room: usize) -> (usize, usize) {
    let mut best = ((0, 0), (0, 0));
    let mut first = 0;
    for last in 0..hits.len() {
        while first < last && hits[last].end.saturating_sub(hits[first].start) > room {
            first += 1;
        }
        let inside = &hits[first..=last];
        let mut terms: Vec<usize> = inside.iter().map(|hit| hit.term).take(MAX_COUNTED).collect();
        terms.sort_unstable();
        terms.dedup();
        let worth = (terms.len(), inside.len().min(MAX_COUNTED));
        if worth > best.0 {
            best = (worth, (hits[first].start, hits[last].end));
        }
    }
    best.1
}

/// Maximum number of hits in a part that are considered.
const MAX_COUNTED: usize = 32;

/// Distributes the remaining room to both sides.
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
        let gap = before.find(' ').or_else(|| before.find(is_gap));
        start += gap.map_or(0, |gap| gap + before[gap..].chars().next().map_or(0, char::len_utf8));
    }
    if cuts_word(end) {
        let held = hits.end.clamp(start, end);
        let after = &text[held..end];
        end = after.rfind(' ').or_else(|| after.rfind(is_gap)).map_or(end, |gap| held + gap);
    }
    let mut out = String::with_capacity(end - start + 2 * GAP.len_utf8());
    if start > 0 {
        out.push(GAP);
    }
    out.push_str(text[start..end].trim());
    if end < text.len() {
        out.push(GAP);
    }
    out
}

/// Makes one line: collapses white space, and removes control characters and terminal escapes.
fn flatten(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut step = c.len_utf8();
        if c == '\u{1b}' {
            step = bethink_names::words::after_escape(rest.as_bytes(), 0);
        } else if c.is_whitespace() {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        } else if !c.is_control() && !is_invisible(c) {
            out.push(c);
        }
        rest = &rest[step..];
    }
    out.truncate(out.trim_end().len());
    out
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
        check("  a\n\tb \u{1b}[31mred\u{1b}[0m\u{7}\u{202E}\r\n", "x", 20, "a b red");
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
        fn never_longer_and_never_more_than_a_line(
            text in "[a-z \\n\\u{1b}é漢.]{0,200}", terms in prop::collection::vec("[a-z]{2,3}", 0..4), max in 0usize..60,
        ) {
            let shown = snippet(&text, &terms, max);
            prop_assert!(shown.chars().count() <= max);
            prop_assert!(!shown.contains(char::is_control));
        }
    }
}
