//! Changes single keys of an existing topic and leaves every other byte as it is.

use std::ops::Range;

use super::block::{self, FrontMatterBlock};
use super::gather::{self, Names};
use super::write::{line, question_list, scalar, source};
use super::{Header, MemoryKind, MemoryRecall, Source, lines, questions, read, write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderChange<'a> {
    Name(&'a str),
    Description(&'a str),
    Kind(MemoryKind),
    /// The time of the change, in RFC 3339 format.
    Modified(&'a str),
    Source(&'a Source),
    /// An empty list removes the questions.
    Questions(&'a [String]),
    /// `None` removes the key.
    Recall(Option<MemoryRecall>),
}

/// Front matter in which a single key cannot be changed, such as a map in braces.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not edit the front matter: {why}; edit the file by hand")]
pub struct Unchangeable {
    pub why: String,
}

/// Sets keys in a topic's front matter. An existing key is changed in place, at the top or under `metadata:`; a new key
/// is added at the end. If there is no front matter, it is added.
pub fn with(text: &str, changes: &[HeaderChange<'_>]) -> Result<String, Unchangeable> {
    let before = read(text);
    if before.header_range.is_empty() {
        return Ok(fresh(text, changes));
    }
    let mut expected = before.header.clone();
    let mut out = text.to_owned();
    for change in changes {
        out = one(&out, change)?;
        change.put(&mut expected);
    }
    let after = read(&out);
    // No other key may have changed, but the change may have removed a fault.
    expected.faults.retain(|fault| after.header.faults.contains(fault));
    if after.header != expected || after.body != before.body {
        return Err(unchangeable("it does not have one key per line"));
    }
    Ok(out)
}

/// Returns `text` with the `recall` key of `before`, which only a person changes. If that key cannot be edited, the text stays
/// as it is.
pub fn with_recall(text: String, before: Option<&str>) -> String {
    let recall = before.and_then(|before| read(before).header.recall);
    if read(&text).header.recall == recall {
        return text;
    }
    with(&text, &[HeaderChange::Recall(recall)]).unwrap_or(text)
}

/// Adds front matter to text that has none, after the byte order mark if there is one.
fn fresh(text: &str, changes: &[HeaderChange<'_>]) -> String {
    let mut header = Header::default();
    changes.iter().for_each(|change| change.put(&mut header));
    let (mark, body) = text.split_at(block::after_bom(text));
    let end = line_end(text);
    let head = write(&header, "").replace('\n', end);
    let free = if body.is_empty() || body.starts_with(['\n', '\r']) { "" } else { end };
    format!("{mark}{head}{free}{body}")
}

fn one(text: &str, change: &HeaderChange<'_>) -> Result<String, Unchangeable> {
    let block = block::find(text).ok_or_else(|| unchangeable("it was not found"))?;
    if !block.ended {
        return Err(unchangeable("it does not end with a `---` line"));
    }
    let rows = rows(text, &block);
    let (range, new) = match find(text, &rows, change.names()) {
        Some(row) => (row.range.clone(), change.rewritten(text, row)),
        None => {
            let indent = rows.first().map_or("", |row| &text[row.indent.clone()]);
            let at = block.inner.end;
            (at..at, change.added(indent, line_end(text)))
        }
    };
    Ok([&text[..range.start], &new, &text[range.end..]].concat())
}

impl HeaderChange<'_> {
    fn names(&self) -> Names {
        match self {
            HeaderChange::Name(_) => gather::NAME,
            HeaderChange::Description(_) => gather::DESCRIPTION,
            HeaderChange::Kind(_) => gather::KIND,
            HeaderChange::Modified(_) => gather::MODIFIED,
            HeaderChange::Source(_) => gather::SOURCE,
            HeaderChange::Questions(_) => gather::QUESTIONS,
            HeaderChange::Recall(_) => gather::RECALL,
        }
    }

    /// Applies the change to a parsed header, with the same result as reading the changed text.
    fn put(&self, header: &mut Header) {
        match *self {
            HeaderChange::Name(text) => header.name = one_line(text),
            HeaderChange::Description(text) => header.description = one_line(text),
            HeaderChange::Kind(kind) => header.kind = Some(kind),
            HeaderChange::Modified(text) => header.modified = one_line(text),
            HeaderChange::Source(source) => header.source = Some(source.clone()),
            HeaderChange::Questions(given) => header.questions = questions(given),
            HeaderChange::Recall(recall) => header.recall = recall,
        }
    }

    fn value(&self) -> String {
        match *self {
            HeaderChange::Name(text)
            | HeaderChange::Description(text)
            | HeaderChange::Modified(text) => {
                one_line(text).map_or_else(String::new, |line| scalar(&line))
            }
            HeaderChange::Kind(kind) => kind.to_string(),
            HeaderChange::Recall(Some(recall)) => recall.as_str().to_owned(),
            HeaderChange::Source(_) | HeaderChange::Questions(_) | HeaderChange::Recall(None) => {
                String::new()
            }
        }
    }

    fn added(&self, indent: &str, end: &str) -> String {
        self.lines(indent, end)
            .unwrap_or_else(|| format!("{indent}{}: {}{end}", self.names()[0], self.value()))
    }

    /// Returns the key with its value, or `None` if the value takes only one line.
    fn lines(&self, indent: &str, end: &str) -> Option<String> {
        match self {
            HeaderChange::Source(what) => Some(source(what, indent, end)),
            HeaderChange::Questions(given) => Some(question_list(given, indent, end)),
            HeaderChange::Recall(None) => Some(String::new()),
            _ => None,
        }
    }

    /// Replaces a row's value; its key, spacing and comment stay.
    fn rewritten(&self, text: &str, row: &HeaderRow) -> String {
        let end = if text[row.range.clone()].ends_with("\r\n") { "\r\n" } else { "\n" };
        if let Some(lines) = self.lines(&text[row.indent.clone()], end) {
            return lines;
        }
        let gap = match &text[row.gap.clone()] {
            "" => " ",
            gap => gap,
        };
        let key = &text[row.range.start..row.gap.start];
        format!("{key}{gap}{}{}{end}", self.value(), &text[row.comment.clone()])
    }
}

/// A key with its value, which may span several lines.
#[derive(Debug)]
struct HeaderRow {
    /// All lines of the row, including line endings.
    range: Range<usize>,
    indent: Range<usize>,
    key: Range<usize>,
    /// The space between the colon and the value.
    gap: Range<usize>,
    /// The comment at the end of the line, with the space before it.
    comment: Range<usize>,
}

/// Splits front matter into rows.
fn rows(text: &str, block: &FrontMatterBlock) -> Vec<HeaderRow> {
    let lines: Vec<Range<usize>> =
        block::lines(&text[..block.readable.end], block.inner.start).collect();
    let row = |(at, line): (usize, &Range<usize>)| {
        let mut row = row(text, line)?;
        let mut end = line.end;
        for next in &lines[at + 1..] {
            let words = text[next.clone()].trim();
            let deep = indent_of(text, next).len() > row.indent.len();
            let item = indent_of(text, next).len() == row.indent.len() && words.starts_with("- ");
            match words {
                "" => continue,
                _ if deep || item => end = next.end,
                _ => break,
            }
        }
        row.range.end = end;
        Some(row)
    };
    lines.iter().enumerate().filter_map(row).collect()
}

fn row(text: &str, line: &Range<usize>) -> Option<HeaderRow> {
    let whole = &text[line.clone()];
    let indent = indent_of(text, line);
    let (key, _) = lines::key(whole)?;
    let key = indent.end..indent.end + key.len();
    let colon = line.start + whole.find(':')? + 1;
    let words = whole.trim_end();
    let value = text[colon..line.start + words.len()].trim_start();
    let start = line.start + words.len() - value.len();
    let comment = start + comment(value)..line.start + words.len();
    Some(HeaderRow { range: line.clone(), indent, key, gap: colon..start, comment })
}

/// Returns the start of the comment after a value, including the space before it, or the end of the text if there is no
/// comment.
fn comment(value: &str) -> usize {
    let from = match value.chars().next() {
        Some(mark @ ('"' | '\'')) => value[1..].find(mark).map_or(value.len(), |at| at + 2),
        Some('#') => return 0,
        _ => 0,
    };
    let Some(at) = value[from..].find(" #") else { return value.len() };
    value[..from + at].trim_end().len()
}

/// Looks for a key in the same order as reading does: each name at the top, then under `metadata:`.
fn find<'a>(text: &str, rows: &'a [HeaderRow], names: Names) -> Option<&'a HeaderRow> {
    let top = rows.first()?.indent.len();
    let is = |row: &HeaderRow, name: &str| gather::same(&text[row.key.clone()], name);
    let at_top = |row: &HeaderRow| row.indent.len() == top;
    let holds = |nest: &HeaderRow, row: &HeaderRow| {
        let inside = nest.range.start < row.range.start && row.range.end <= nest.range.end;
        inside && at_top(nest) && is(nest, gather::NEST)
    };
    let nested = |row: &HeaderRow| rows.iter().any(|nest| holds(nest, row));
    let look = |held: &dyn Fn(&HeaderRow) -> bool| {
        names.iter().find_map(|name| rows.iter().find(|row| held(row) && is(row, name)))
    };
    look(&at_top).or_else(|| look(&nested))
}

fn indent_of(text: &str, line: &Range<usize>) -> Range<usize> {
    let whole = &text[line.clone()];
    line.start..line.start + (whole.len() - whole.trim_start_matches([' ', '\t']).len())
}

/// Returns the line ending of the text's first line.
fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

fn one_line(text: &str) -> Option<String> {
    Some(line(text)).filter(|line| !line.is_empty())
}

fn unchangeable(why: &str) -> Unchangeable {
    Unchangeable { why: why.to_owned() }
}
