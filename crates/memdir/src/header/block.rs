//! Finds front matter in a file by its `---` lines.

use std::ops::Range;

use super::{HEADER_BYTES, HEADER_LINES};

const BOM: &str = "\u{feff}";

/// The position of the front matter in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FrontMatterBlock {
    /// From the opening `---` to the end of the closing line. The body follows.
    pub(super) outer: Range<usize>,
    /// The lines between the opening and the closing `---`.
    pub(super) inner: Range<usize>,
    /// The part of `inner` within the first lines of the file.
    pub(super) readable: Range<usize>,
    /// Whether there is a closing `---`.
    pub(super) ended: bool,
}

/// Returns `None` if the first line that is not blank is not `---`.
pub(super) fn find(text: &str) -> Option<FrontMatterBlock> {
    let start = first_words(text)?;
    let head = &text[..text.floor_char_boundary(start + HEADER_BYTES)];
    let mut lines = lines(head, start);
    let first = lines.next().filter(|line| head[line.clone()].trim_end() == "---")?;
    let limit = nth_line_end(head, HEADER_LINES);
    for line in lines {
        if matches!(head[line.clone()].trim_end(), "---" | "...") {
            let inner = first.end..line.start;
            let readable = first.end..inner.end.min(limit).max(first.end);
            return Some(FrontMatterBlock { outer: start..line.end, inner, readable, ended: true });
        }
    }
    let inner = first.end..run_end(&head[..limit.max(first.end)], first.end);
    Some(FrontMatterBlock { outer: start..inner.end, readable: inner.clone(), inner, ended: false })
}

/// Returns the positions of the lines from `start` on, including line endings.
pub(super) fn lines(text: &str, start: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = start;
    text[start..].split_inclusive('\n').map(move |line| {
        let range = at..at + line.len();
        at = range.end;
        range
    })
}

/// Returns the position after the byte order mark, if there is one.
pub(super) fn after_bom(text: &str) -> usize {
    if text.starts_with(BOM) { BOM.len() } else { 0 }
}

/// Returns the start of the first line that is not blank, if it is among the first lines.
fn first_words(text: &str) -> Option<usize> {
    lines(text, after_bom(text))
        .take(HEADER_LINES)
        .find(|line| !text[line.clone()].trim().is_empty())
        .map(|line| line.start)
}

/// Returns the end of front matter without a closing `---`: it extends for as long as its lines look like keys and
/// values.
fn run_end(head: &str, start: usize) -> usize {
    let mut end = start;
    for line in lines(head, start) {
        let text = &head[line.clone()];
        let nested = text.starts_with([' ', '\t']) || text.starts_with("- ");
        let looks = nested && end > start || super::lines::key(text.trim_end()).is_some();
        if !looks || text.trim().is_empty() {
            break;
        }
        end = line.end;
    }
    end
}

fn nth_line_end(text: &str, count: usize) -> usize {
    lines(text, 0).nth(count - 1).map_or(text.len(), |line| line.end)
}
