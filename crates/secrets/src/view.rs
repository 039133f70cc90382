//! A view of text: either as it is, or folded, that is, without invisible characters and with wrapped lines joined.

use std::borrow::Cow;
use std::ops::Range;

use bethink_invisible_chars::kind as unseen;

/// Something that a folded view leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seam {
    /// An invisible character, or a full-width form replaced by the usual one.
    Removed,
    /// A line ending, together with the margin and the quotes around it.
    Line,
}

#[derive(Debug)]
pub(crate) struct SecretView<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    pub(crate) folded: bool,
    /// Seams in ascending order, each with the position of the byte after it.
    seams: Vec<(usize, Seam)>,
    /// Start and number of each line.
    lines: Vec<(usize, usize)>,
}

impl<'a> SecretView<'a> {
    pub(crate) fn plain(text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let begins = std::iter::once(0).chain(ends.map(|(at, _)| at + 1));
        let lines = begins.enumerate().map(|(index, at)| (at, index + 1)).collect();
        Self { bytes: Cow::Borrowed(text.as_bytes()), folded: false, seams: Vec::new(), lines }
    }

    /// Makes a view of text that was decoded from a line of another view.
    pub(crate) fn at_line(bytes: &'a [u8], line: usize) -> Self {
        let lines = vec![(0, line)];
        Self { bytes: Cow::Borrowed(bytes), folded: false, seams: Vec::new(), lines }
    }

    pub(crate) fn folded(text: &str) -> SecretView<'static> {
        let mut fold = Fold::default();
        for (index, line) in text.split('\n').enumerate() {
            fold.line(index + 1, line);
        }
        SecretView {
            bytes: Cow::Owned(fold.bytes),
            folded: true,
            seams: fold.seams,
            lines: fold.lines,
        }
    }

    pub(crate) fn line(&self, at: usize) -> usize {
        let after = self.lines.partition_point(|(begin, _)| *begin <= at);
        self.lines.get(after.saturating_sub(1)).map_or(1, |(_, line)| *line)
    }

    /// Returns the seam in a range, if any. Removed characters take precedence over line endings.
    pub(crate) fn seam(&self, range: Range<usize>) -> Option<Seam> {
        let mut within = self.within(range).peekable();
        within.peek()?;
        let removed = within.any(|seam| seam == Seam::Removed);
        Some(if removed { Seam::Removed } else { Seam::Line })
    }

    /// Returns whether the range contains no seam, so that the unfolded view has the same match.
    pub(crate) fn seen_elsewhere(&self, range: &Range<usize>) -> bool {
        self.folded && self.seam(range.clone()).is_none()
    }

    pub(crate) fn lines_joined(&self, range: Range<usize>) -> bool {
        self.within(range).any(|seam| seam == Seam::Line)
    }

    /// Returns whether a word may begin or end here, because a line was joined.
    pub(crate) fn is_line_seam(&self, at: usize) -> bool {
        let from = self.seams.partition_point(|(seam, _)| *seam < at);
        let here = self.seams[from..].iter().take_while(|(seam, _)| *seam == at);
        here.into_iter().any(|(_, seam)| *seam == Seam::Line)
    }

    fn within(&self, range: Range<usize>) -> impl Iterator<Item = Seam> + '_ {
        let from = self.seams.partition_point(|(at, _)| *at <= range.start);
        self.seams[from..].iter().take_while(move |(at, _)| *at < range.end).map(|(_, seam)| *seam)
    }
}

#[derive(Default)]
struct Fold {
    bytes: Vec<u8>,
    seams: Vec<(usize, Seam)>,
    lines: Vec<(usize, usize)>,
}

impl Fold {
    fn line(&mut self, number: usize, line: &str) {
        let mut line = line.trim_end();
        if number > 1 {
            line = margin(line);
            if let Some(rest) = self.continued(line) {
                line = rest;
            }
            self.seams.push((self.bytes.len(), Seam::Line));
        }
        self.lines.push((self.bytes.len(), number));
        for c in line.chars() {
            self.push(c);
        }
        while self.bytes.last().is_some_and(|byte| matches!(byte, b'\\' | b' ')) {
            self.bytes.pop();
        }
    }

    fn push(&mut self, c: char) {
        let narrow = narrow(c);
        if unseen(c).is_some() || narrow != c {
            self.seams.push((self.bytes.len(), Seam::Removed));
        }
        if unseen(c).is_none() {
            self.bytes.extend_from_slice(narrow.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    /// Joins string literals: in `"abc" +` before `"def"`, the quotes and the operator are not part of the value.
    fn continued<'l>(&mut self, next: &'l str) -> Option<&'l str> {
        let next = next.trim_start_matches(['+', '.', ' ']);
        let quote = *next.as_bytes().first().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
        let mut end = self.bytes.len();
        while end > 0 && matches!(self.bytes[end - 1], b'+' | b'.' | b' ') {
            end -= 1;
        }
        if end == 0 || self.bytes[end - 1] != quote {
            return None;
        }
        self.bytes.truncate(end - 1);
        next.get(1..)
    }
}

/// Removes indentation and the markers of quotations, comments and list items.
fn margin(line: &str) -> &str {
    let mut rest = line.trim_start();
    for mark in [">", "//", "#", "* ", "- ", "|"] {
        if let Some(stripped) = rest.strip_prefix(mark) {
            rest = stripped.trim_start_matches(['/', '#', '>']).trim_start();
        }
    }
    rest
}

/// Replaces full-width letters, digits and symbols with the usual ones.
fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let view = SecretView::folded(text);
        assert_eq!(String::from_utf8_lossy(&view.bytes), expect, "{text:?}");
    }

    #[test]
    fn lines_are_joined_without_their_margins() {
        check("abc\ndef", "abcdef");
        check("abc  \r\n   def", "abcdef");
        check("abc\\\n    def", "abcdef");
        check("> abc\n> def", "> abcdef");
        check("# abc\n# def", "# abcdef");
        check("// abc\n// def", "// abcdef");
        check("let a = \"abc\" +\n  \"def\";", "let a = \"abcdef\";");
        check("('abc'\n 'def')", "('abcdef')");
        check("\"abc\",\n\"def\"", "\"abc\",\"def\"");
    }

    #[test]
    fn what_is_not_seen_is_left_out() {
        check("a\u{200b}b\u{e0041}c\u{fe0f}", "abc");
        check("ＡＫＩＡ", "AKIA");
        check("ünchanged – 中文", "ünchanged – 中文");
    }

    #[test]
    fn places_keep_their_lines() {
        let view = SecretView::folded("one\ntwo\nthree");
        assert_eq!(view.line(0), 1);
        assert_eq!(view.line(3), 2);
        assert_eq!(view.line(6), 3);
        assert_eq!(view.seam(1..5), Some(Seam::Line));
        assert_eq!(view.seam(3..6), None);
        assert!(view.is_line_seam(3) && !view.is_line_seam(4));
        assert_eq!(SecretView::folded("a\u{200b}b\nc").seam(0..3), Some(Seam::Removed));
        assert_eq!(SecretView::plain("a\nb\nc").line(4), 3);
    }
}
