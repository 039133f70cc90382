//! Splits an index into lines, and the lines into entries and prose.

use std::ops::Range;

use super::links::{Link, links};
use crate::name::Name;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexLine<'a> {
    /// The line's number, from 1.
    pub number: usize,
    /// Position in the index, including the line ending.
    pub range: Range<usize>,
    /// The line without its line ending.
    pub text: &'a str,
    /// Spaces and tabs before the first word.
    pub indent: usize,
    /// The bullet, including the space: `- `, `* `, `3. `. Empty if the line is not a list item.
    pub bullet: &'a str,
    /// Links outside code blocks.
    pub links: Vec<Link>,
    /// Whether the line is part of a code block, including the fences.
    pub code: bool,
}

/// A topic's entry, with the lines that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry<'a> {
    pub name: Name,
    pub first: IndexLine<'a>,
    /// Position in the index: the first line and its continuation lines, including line endings.
    pub range: Range<usize>,
    pub text: &'a str,
}

pub fn lines(text: &str) -> Vec<IndexLine<'_>> {
    each_line(text).collect()
}

/// Returns the lines one by one, for a reader that needs only a few of them.
pub(super) fn each_line(text: &str) -> impl Iterator<Item = IndexLine<'_>> {
    let mut at = 0;
    let mut fence: Option<&str> = None;
    text.split_inclusive('\n').enumerate().map(move |(number, whole)| {
        let range = at..at + whole.len();
        at = range.end;
        let line = whole.trim_end_matches(['\n', '\r']);
        let mark = fence_mark(line);
        let code = fence.is_some() || mark.is_some();
        fence = match (fence, mark) {
            (Some(open), Some(mark)) if mark.starts_with(open) => None,
            (None, mark) => mark,
            (open, _) => open,
        };
        self::line(number + 1, range, line, code)
    })
}

/// Returns the entries in order. A topic that is listed twice has two entries.
pub fn entries(text: &str) -> Vec<IndexEntry<'_>> {
    let lines = lines(text);
    let mut out = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = topic(line) else { continue };
        let goes_on = |next: &&IndexLine<'_>| {
            let is_text = !next.code && next.bullet.is_empty() && !next.text.trim().is_empty();
            // An entry within another one would be removed with it.
            is_text && next.indent > line.indent && topic(next).is_none()
        };
        let last = lines[at + 1..].iter().take_while(goes_on).last().unwrap_or(line);
        let range = line.range.start..last.range.end;
        let text = &text[range.clone()];
        out.push(IndexEntry { name: name.clone(), first: line.clone(), range, text });
    }
    out
}

/// Returns the topic of an entry: a line that begins with a link, or a list item with only one link.
fn topic<'a>(line: &'a IndexLine<'_>) -> Option<&'a Name> {
    let link = line.links.first()?;
    let before = line.text[line.indent + line.bullet.len()..link.range.start].trim();
    let begins = before.chars().all(|c| matches!(c, '*' | '_' | '`' | '[' | ']' | 'x' | ' '));
    let only = line.links.len() == 1 && !line.bullet.is_empty();
    link.topic().filter(|_| begins || only)
}

fn line(number: usize, range: Range<usize>, text: &str, code: bool) -> IndexLine<'_> {
    let words = text.trim_start_matches([' ', '\t']);
    let indent = text.len() - words.len();
    let bullet = if code { "" } else { bullet(words) };
    let links = if code { Vec::new() } else { links(text) };
    IndexLine { number, range, text, indent, bullet, links, code }
}

fn bullet(words: &str) -> &str {
    let digits = words.bytes().take_while(u8::is_ascii_digit).count();
    let mark = match digits {
        0 => words.starts_with(['-', '*', '+']).then_some(1),
        1..=9 => words[digits..].starts_with(['.', ')']).then_some(digits + 1),
        _ => None,
    };
    let Some(mark) = mark else { return "" };
    let space = words[mark..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    if space == 0 { "" } else { &words[..mark + space] }
}

/// Returns the mark that begins or ends a code block.
fn fence_mark(line: &str) -> Option<&str> {
    let words = line.trim_start();
    let mark = words.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let run = words.len() - words.trim_start_matches(mark).len();
    (run >= 3 && !words[run..].contains('`')).then(|| &words[..run])
}
