//! Splits a topic's body into blocks, which are moved as a whole, and sentences, which are compared.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use bethink_statement::normal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    Heading,
    /// A list item, with the indented lines below it.
    Item,
    Text,
    Code,
    Table,
}

/// Lines that belong together. Blank lines separate blocks.
#[derive(Clone, Debug)]
pub(crate) struct LineBlock {
    pub(crate) kind: LineKind,
    /// Whole lines, including line endings.
    pub(crate) range: Range<usize>,
}

/// Words that are recognized.
pub(crate) type WordList = LazyLock<HashSet<&'static str>>;

/// Returns the words of a list that are separated by single spaces.
pub(crate) fn word_set(words: &'static str) -> HashSet<&'static str> {
    words.split(' ').collect()
}

pub(crate) fn blocks(body: &str) -> Vec<LineBlock> {
    let mut reader = BlockReader { blocks: Vec::new(), open: None, at: 0 };
    for line in body.split_inclusive('\n') {
        reader.take(line);
    }
    reader.blocks
}

struct BlockReader {
    blocks: Vec<LineBlock>,
    open: Option<OpenBlock>,
    at: usize,
}

/// The block that the next line may continue.
enum OpenBlock {
    /// A code block, until the same fence.
    Code(String),
    /// A list item. The number is the indentation of its bullet, in columns.
    Item(usize),
    Text,
    Table,
}

impl BlockReader {
    fn take(&mut self, line: &str) {
        let range = self.at..self.at + line.len();
        self.at = range.end;
        let bare = line.trim();
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        if let Some(OpenBlock::Code(fence)) = &self.open {
            if bare.starts_with(fence.as_str()) {
                self.open = None;
            }
            return self.grow(range);
        }
        if bare.is_empty() {
            // A blank line ends every block except an item, which may continue with indented lines.
            if !matches!(self.open, Some(OpenBlock::Item(_))) {
                self.open = None;
            }
            return;
        }
        if let Some(OpenBlock::Item(column)) = self.open
            && (indent > column || !parted(&self.blocks, range.start) && starts(bare).is_none())
        {
            return self.grow(range);
        }
        let (kind, open) = match starts(bare) {
            Some(LineKind::Code) => {
                (LineKind::Code, Some(OpenBlock::Code(bare.chars().take(3).collect())))
            }
            Some(LineKind::Heading) => (LineKind::Heading, None),
            Some(LineKind::Item) => (LineKind::Item, Some(OpenBlock::Item(indent))),
            Some(LineKind::Table) if matches!(self.open, Some(OpenBlock::Table)) => {
                return self.grow(range);
            }
            Some(LineKind::Table) => (LineKind::Table, Some(OpenBlock::Table)),
            _ if matches!(self.open, Some(OpenBlock::Text)) => return self.grow(range),
            _ => (LineKind::Text, Some(OpenBlock::Text)),
        };
        self.blocks.push(LineBlock { kind, range });
        self.open = open;
    }

    fn grow(&mut self, range: Range<usize>) {
        if let Some(block) = self.blocks.last_mut() {
            block.range.end = range.end;
        }
    }
}

/// Returns whether a blank line separates the newest block from this line.
fn parted(blocks: &[LineBlock], at: usize) -> bool {
    blocks.last().is_none_or(|block| block.range.end != at)
}

fn starts(line: &str) -> Option<LineKind> {
    if line.starts_with("```") || line.starts_with("~~~") {
        return Some(LineKind::Code);
    }
    if line.starts_with('#') && line.trim_start_matches('#').starts_with([' ', '\t']) {
        return Some(LineKind::Heading);
    }
    if line.starts_with('|') {
        return Some(LineKind::Table);
    }
    bullet(line).map(|_| LineKind::Item)
}

/// Returns the length of a list item's bullet, including the space after it.
pub(crate) fn bullet(line: &str) -> Option<usize> {
    if line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ") {
        return Some(2);
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = &line[digits..];
    (digits > 0 && digits <= 4 && (rest.starts_with(". ") || rest.starts_with(") ")))
        .then_some(digits + 2)
}

/// A sentence of prose, with its position.
#[derive(Clone, Debug)]
pub(crate) struct ProseSentence {
    pub(crate) range: Range<usize>,
    pub(crate) normal: String,
}

/// Returns every sentence of a body. A line of code or of a table counts as a sentence.
pub(crate) fn sentences(body: &str) -> Vec<ProseSentence> {
    let mut found = Vec::new();
    for block in blocks(body) {
        let prose = matches!(block.kind, LineKind::Item | LineKind::Text);
        let start = block.range.start;
        for piece in pieces(&body[block.range], prose) {
            push(body, start + piece.start..start + piece.end, &mut found);
        }
    }
    found
}

/// Returns the sentences as a set, to check whether one text contains all sentences of another.
pub(crate) fn said(body: &str) -> BTreeSet<String> {
    sentences(body).into_iter().map(|sentence| sentence.normal).collect()
}

fn push(body: &str, range: Range<usize>, found: &mut Vec<ProseSentence>) {
    let text = &body[range.clone()];
    let lead = text.len() - text.trim_start().len();
    let mark = bullet(text.trim_start()).unwrap_or(0);
    let start = range.start + lead + mark;
    let end = range.start + text.trim_end().len();
    let normal = normal(&body[start.min(end)..end]);
    if normal.chars().any(char::is_alphanumeric) {
        found.push(ProseSentence { range: start..end, normal });
    }
}

/// Returns the positions of sentences in a block. Outside prose, each line is a sentence. In prose, a sentence extends
/// to a punctuation mark that ends it, or to a line that begins a list item.
fn pieces(block: &str, prose: bool) -> Vec<Range<usize>> {
    let (mut ends, mut at) = (Vec::new(), 0);
    for line in block.split_inclusive('\n') {
        if !prose || at > 0 && bullet(line.trim_start()).is_some() {
            ends.push(at);
        }
        if prose {
            ends.extend(stops(line).map(|stop| at + stop));
        }
        at += line.len();
    }
    ends.push(block.len());
    let mut from = 0;
    let mut ranges = Vec::new();
    for end in ends {
        if end > from {
            ranges.push(from..end);
            from = end;
        }
    }
    ranges
}

/// Returns the positions of punctuation marks that end a sentence: at the end of the line, or before another sentence.
fn stops(line: &str) -> impl Iterator<Item = usize> + '_ {
    let begins = |rest: &str| {
        let next = rest.trim_start().chars().next();
        let opens = |c: char| c.is_uppercase() || matches!(c, '`' | '*' | '"' | '“' | '~');
        rest.trim().is_empty() || rest.starts_with(' ') && next.is_some_and(opens)
    };
    let (mut read, mut in_code) = (0, false);
    line.match_indices(['.', '!', '?']).map(|(at, mark)| at + mark.len()).filter(move |end| {
        in_code ^= is_code(&line[read..], *end - read);
        read = *end;
        !in_code && begins(&line[*end..])
    })
}

/// Returns whether the position is between two backticks of its line.
pub(crate) fn is_code(line: &str, at: usize) -> bool {
    line[..at].matches('`').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expect: &[(LineKind, &str)]) {
        let found: Vec<_> =
            blocks(body).into_iter().map(|block| (block.kind, &body[block.range])).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn a_body_is_cut_into_blocks() {
        check(
            "# One\n\nTwo\nthree\n\n- four\n  five\n\n  six\n- seven\n\n```\n- code\n\n```\n| a |\n| b |\n",
            &[
                (LineKind::Heading, "# One\n"),
                (LineKind::Text, "Two\nthree\n"),
                (LineKind::Item, "- four\n  five\n\n  six\n"),
                (LineKind::Item, "- seven\n"),
                (LineKind::Code, "```\n- code\n\n```\n"),
                (LineKind::Table, "| a |\n| b |\n"),
            ],
        );
        check("\n\n", &[]);
        check("```\nopen", &[(LineKind::Code, "```\nopen")]);
        check("- a\nlazy\n\nafter", &[(LineKind::Item, "- a\nlazy\n"), (LineKind::Text, "after")]);
    }

    #[test]
    fn blocks_are_cut_into_sentences() {
        let of = |body| sentences(body).into_iter().map(|s| s.normal).collect::<Vec<_>>();
        assert_eq!(
            of("One is. Two is, e.g. this.\nStill two."),
            ["one is", "two is, e.g. this", "still two"]
        );
        assert_eq!(of("- a b\n  - c d\n\n| x | y |\n"), ["a b", "c d", "| x | y |"]);
        assert_eq!(of("Use `a. B` here. Done!"), ["use a. b here", "done"]);
        assert_eq!(of("Wrapped over\ntwo lines."), ["wrapped over two lines"]);
        assert_eq!(of("---\n***\n"), Vec::<String>::new());
    }

    #[test]
    fn a_sentence_knows_where_it_stands() {
        let body = "- First one. Second one.\n";
        let texts: Vec<_> = sentences(body).into_iter().map(|s| &body[s.range]).collect();
        assert_eq!(texts, ["First one.", "Second one."]);
    }
}
