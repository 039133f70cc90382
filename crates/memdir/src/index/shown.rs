//! The part of the index that a prompt shows, and warnings for its writer.

use bethink_api::IndexLimit;

use super::{INDEX_BYTES, INDEX_LINES, LINE_CHARS};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexBeginning<'a> {
    pub content: &'a str,
    /// Number of lines in the whole index.
    pub lines: usize,
    /// Size of the whole index, in bytes.
    pub bytes: usize,
    /// The limit that the index exceeds, if any.
    pub cut_by: Option<IndexLimit>,
    /// Tells the model that the index is incomplete, and why.
    pub warning: Option<String>,
}

/// Returns the first 200 lines, but at most 25,000 bytes. The text is cut at the end of a line, unless the first line
/// is too long.
pub fn shown(text: &str) -> IndexBeginning<'_> {
    let lines = text.lines().count();
    let end: usize = text.split_inclusive('\n').take(INDEX_LINES).map(str::len).sum();
    let first = &text[..end];
    let content = first_bytes(first);
    let cut_by = match (content.len() < first.len(), first.len() < text.len()) {
        (true, _) => Some(IndexLimit::Bytes),
        (_, true) => Some(IndexLimit::Lines),
        _ => None,
    };
    let warning = cut_by.map(|cap| {
        let size = match cap {
            IndexLimit::Lines => format!("{lines} lines; only the first {INDEX_LINES} are shown"),
            IndexLimit::Bytes => {
                format!("{} bytes; only the first {INDEX_BYTES} are shown", text.len())
            }
        };
        format!("MEMORY.md has {size}. Read the file for the rest, and keep its entries short.")
    });
    IndexBeginning { content, lines, bytes: text.len(), cut_by, warning }
}

fn first_bytes(text: &str) -> &str {
    if text.len() <= INDEX_BYTES {
        return text;
    }
    let end = text.floor_char_boundary(INDEX_BYTES);
    &text[..text[..end].rfind('\n').map_or(end, |at| at + 1)]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexWarning {
    #[error(
        "line {line} of MEMORY.md has {chars} characters, more than {LINE_CHARS}: shorten the line, and move details to \
         the topic"
    )]
    LongLine { line: usize, chars: usize },
    #[error(
        "MEMORY.md has {lines} lines, {} more than the {INDEX_LINES} that prompts show: lines after line \
         {INDEX_LINES} are left out",
        .lines - INDEX_LINES
    )]
    TooManyLines { lines: usize },
    #[error(
        "MEMORY.md is {bytes} bytes long, {} more than the {INDEX_BYTES} that prompts show: line {unseen_from} and all \
         lines after it are left out",
        .bytes - INDEX_BYTES
    )]
    TooManyBytes { bytes: usize, unseen_from: usize },
}

/// Returns warnings: exceeded limits first, then long lines in order.
pub fn warnings(text: &str) -> Vec<IndexWarning> {
    let mut out = Vec::new();
    let lines = text.lines().count();
    if lines > INDEX_LINES {
        out.push(IndexWarning::TooManyLines { lines });
    }
    if text.len() > INDEX_BYTES {
        let seen = first_bytes(text);
        let unseen_from = seen.lines().count() + usize::from(seen.ends_with('\n'));
        out.push(IndexWarning::TooManyBytes { bytes: text.len(), unseen_from });
    }
    out.extend(text.lines().enumerate().filter_map(|(at, line)| {
        let chars = line.chars().count();
        (chars > LINE_CHARS).then_some(IndexWarning::LongLine { line: at + 1, chars })
    }));
    out
}
