//! Finds the lines of a message that a person wrote.
//!
//! Tagged elements, code, output, data, quotations and everything after a heading are left out, because copied text does not
//! express the person's own views. When in doubt, a line is left out.

use super::copied::{
    begins_quotation, closes_quotation, has_label, is_mostly_signs, is_output, speaker,
};
use super::tags::{ElementEnds, Foreign};

/// Minimum indentation of code, in columns.
const CODE_INDENT: usize = 4;
/// Minimum indentation of text that was copied from a terminal, in columns, outside a list.
const PASTE_INDENT: usize = 2;
/// Minimum length of a fence, and of the line under a heading.
const FENCE_BYTES: usize = 3;
/// Minimum number of lines with a label that count as data or a conversation.
const LABELS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProseLine<'a> {
    /// A line that a person wrote. `start` is its offset in the message, `body` has no surrounding white space.
    Own { start: usize, body: &'a str, marker: usize, in_list: bool },
    /// A paragraph ends: the line is blank or copied.
    Break,
}

pub(super) fn prose_lines(text: &str) -> Vec<ProseLine<'_>> {
    let mut reader = LineReader::new(text);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if !reader.line(start, line.trim_end()) {
            break;
        }
    }
    without_labels(reader.found)
}

/// Leaves out everything from the first label on, if there are several labels.
fn without_labels(mut lines: Vec<ProseLine<'_>>) -> Vec<ProseLine<'_>> {
    let is_labelled = |line: &ProseLine<'_>| matches!(line, ProseLine::Own { body, marker: 0, .. } if has_label(body));
    let mut labelled = lines.iter().enumerate().filter(|(_, line)| is_labelled(line));
    let first = labelled.next().map(|(at, _)| at);
    if let Some(first) = first.filter(|_| labelled.nth(LABELS - 2).is_some()) {
        lines.truncate(first);
    }
    lines
}

/// Copied text that continues in the next line.
#[derive(Clone, Copy)]
enum Copied<'a> {
    Nothing,
    /// A code block, until a fence of the same character and at least this length.
    Fence(char, usize),
    /// Output, until a blank line.
    Output,
    /// A diff, until a line that cannot belong to one.
    Diff,
    /// A comment, until a line with this text.
    Comment(&'static str),
    /// A document in a shell command, until a line with only this word.
    Document(&'a str),
}

struct LineReader<'a> {
    text: &'a str,
    found: Vec<ProseLine<'a>>,
    elements: ElementEnds,
    /// The end of the current element. Lines that begin before it belong to the element.
    until: usize,
    copied: Copied<'a>,
    /// Whether the previous line is a list item or follows one.
    in_list: bool,
}

impl<'a> LineReader<'a> {
    fn new(text: &'a str) -> Self {
        let elements = ElementEnds::of(text);
        Self {
            text,
            found: Vec::new(),
            elements,
            until: 0,
            copied: Copied::Nothing,
            in_list: false,
        }
    }

    /// Reads a line; returns `false` if the rest of the message is not the user's.
    fn line(&mut self, start: usize, line: &'a str) -> bool {
        let body = line.trim_start();
        if start < self.until || self.continues_copied(line, body) {
            self.break_paragraph();
            return true;
        }
        match self.elements.of_line(self.text, start..start + line.len()) {
            Foreign::Until(end) => {
                self.until = end;
                self.break_paragraph();
                return true;
            }
            Foreign::Before => {
                self.found.clear();
                return true;
            }
            Foreign::Nothing => {}
        }
        if let Some(copied) = begins_copied(body) {
            self.copied = copied;
            self.break_paragraph();
            return true;
        }
        if self.is_underline(body) || is_heading(line) || begins_quotation(body) {
            return false;
        }
        if closes_quotation(body) {
            self.found.clear();
            return true;
        }
        self.prose(start, line, body)
    }

    fn prose(&mut self, start: usize, line: &'a str, body: &'a str) -> bool {
        let indent = line.len() - body.len();
        let marker = list_marker(body);
        let is_indented = indent >= CODE_INDENT
            || line.starts_with('\t')
            || (indent >= PASTE_INDENT && !self.in_list);
        if is_indented && !(self.in_list && marker > 0)
            || body.starts_with('>')
            || is_mostly_signs(body)
        {
            self.break_paragraph();
            return true;
        }
        if is_output(body) {
            self.copied = Copied::Output;
            self.break_paragraph();
            return true;
        }
        match speaker(body) {
            Some(at) => {
                self.own(start + indent, body[..at].trim_end(), marker);
                false
            }
            None => {
                self.own(start + indent, body, marker);
                true
            }
        }
    }

    fn own(&mut self, start: usize, body: &'a str, marker: usize) {
        if body.is_empty() {
            return;
        }
        let follows = matches!(self.found.last(), Some(ProseLine::Own { .. }));
        self.in_list = marker > 0 || (follows && self.in_list);
        self.found.push(ProseLine::Own { start, body, marker, in_list: self.in_list });
    }

    fn break_paragraph(&mut self) {
        if matches!(self.found.last(), Some(ProseLine::Own { .. })) {
            self.found.push(ProseLine::Break);
        }
    }

    /// Whether a line continues copied text, or is blank.
    fn continues_copied(&mut self, line: &str, body: &str) -> bool {
        let (ends, belongs) = match self.copied {
            Copied::Nothing => (false, false),
            Copied::Fence(mark, length) => (closes_fence(body, mark, length), true),
            Copied::Output => (body.is_empty(), true),
            Copied::Diff => {
                let belongs =
                    body.is_empty() || DIFF_LINES.iter().any(|start| line.starts_with(start));
                (!belongs, belongs)
            }
            Copied::Comment(end) => (body.contains(end), true),
            Copied::Document(word) => (body == word, true),
        };
        if ends {
            self.copied = Copied::Nothing;
        }
        belongs || body.is_empty()
    }

    /// Whether a line makes the line before it a heading.
    fn is_underline(&mut self, body: &str) -> bool {
        let is_one = body.len() >= FENCE_BYTES
            && body.bytes().all(|byte| byte == b'=')
            && matches!(self.found.last(), Some(ProseLine::Own { marker: 0, .. }));
        if is_one {
            self.found.pop();
        }
        is_one
    }
}

/// Returns the copied text that begins with a line, if it may have several lines.
fn begins_copied(body: &str) -> Option<Copied<'_>> {
    if let Some((mark, length)) = fence(body) {
        return Some(Copied::Fence(mark, length));
    }
    // A fence after other words, which are left out, too.
    if body.contains('`') && body.matches("```").count() % 2 == 1 {
        return Some(Copied::Fence('`', FENCE_BYTES));
    }
    if DIFF_BEGINNINGS.iter().any(|start| body.starts_with(start)) {
        return Some(Copied::Diff);
    }
    for (begin, end) in
        [("/*", "*/"), ("<!--", "-->"), ("{-", "-}"), ("\"\"\"", "\"\"\""), ("'''", "'''")]
    {
        if let Some(rest) = body.strip_prefix(begin) {
            return Some(if rest.contains(end) { Copied::Output } else { Copied::Comment(end) });
        }
    }
    let (_, word) = body.find('<').and_then(|at| body[at..].split_once("<<"))?;
    let word =
        word.trim_start_matches(['-', '~']).split_whitespace().next()?.trim_matches(['\'', '"']);
    let is_word = word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word.then_some(Copied::Document(word))
}

/// Beginnings of the first line of a diff.
const DIFF_BEGINNINGS: [&str; 5] = ["diff --", "@@ ", "+++ ", "--- a/", "--- /"];
/// Beginnings of lines in a diff.
const DIFF_LINES: [&str; 14] = [
    "+",
    "-",
    " ",
    "@",
    "\\",
    "diff ",
    "index ",
    "similarity ",
    "rename ",
    "copy ",
    "new ",
    "old ",
    "deleted ",
    "Binary ",
];

/// Returns the character and length of a fence, if the line begins with one.
fn fence(body: &str) -> Option<(char, usize)> {
    let mark = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = body.len() - body.trim_start_matches(mark).len();
    // If more backticks follow, this is a span of code and no fence.
    let is_span = mark == '`' && body[length..].contains('`');
    (length >= FENCE_BYTES && !is_span).then_some((mark, length))
}

fn closes_fence(body: &str, mark: char, length: usize) -> bool {
    let rest = body.trim_start_matches(mark);
    body.len() - rest.len() >= length && rest.trim_end().is_empty()
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6).contains(&level) && rest.starts_with(' ')
}

/// Returns the length of `- `, `* `, `3. ` or `3) ` at the beginning, in bytes.
fn list_marker(body: &str) -> usize {
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let rest = body.get(digits..).unwrap_or_default();
    let sign = match rest.chars().next() {
        Some('.' | ')') if (1..=3).contains(&digits) => 1,
        Some(c @ ('-' | '*' | '•')) if digits == 0 => c.len_utf8(),
        _ => return 0,
    };
    let after = rest.get(sign..).unwrap_or_default();
    let spaces = after.len() - after.trim_start_matches(' ').len();
    if spaces == 0 { 0 } else { digits + sign + spaces }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which lines are the user's.
    fn check(text: &str, expect: &[&str]) {
        let lines = prose_lines(text);
        let own = lines.iter().filter_map(|line| match line {
            ProseLine::Own { body, .. } => Some(*body),
            ProseLine::Break => None,
        });
        assert_eq!(own.collect::<Vec<_>>(), expect, "{text}");
    }

    #[test]
    fn a_fence_ends_with_one_of_its_kind() {
        check("a\n```\nb\n~~~\nc\n```\nd", &["a", "d"]);
        check("````\n```\nb\n````\nd", &["d"]);
        check("~~~ sh\nb\n~~~~\nd", &["d"]);
        check("```\nb\n``` x\nc", &[]);
        check("see ```\nb\n```\nd", &["d"]);
        check("```a``` is code\nd", &["```a``` is code", "d"]);
    }

    #[test]
    fn output_goes_on_to_a_blank_line() {
        check("ERROR a\nb\n\nc", &["c"]);
        check("src/a.rs:3:5: a\nb\n\nc", &["c"]);
        check("diff --git a/x b/x\n@@ -1 +1 @@\n a\n-b\n\n+c\nd", &["d"]);
        check("/*\n * a\n\n * b\n */\nc", &["c"]);
        check("cat <<'END'\na\n\nb\nEND\nc", &["c"]);
        check("> a\nb", &["b"]);
    }

    #[test]
    fn a_quotation_goes_on_to_the_end() {
        for begin in [
            "# T",
            "T\n===",
            "Bob: a\nAnn: b",
            "Human: a",
            "$ cat x",
            "Bob  10:02 AM",
            "From: a",
            "Hi all,",
        ] {
            check(&format!("own\n\n{begin}\nb\n\nc"), &["own"]);
        }
        check("a\n\nb\n\nBest regards,\nBob", &["Bob"]);
        check("own\nStatus: open\nb", &["own", "Status: open", "b"]);
    }
}
