//! The body of a topic in blocks and sentences: what may be compared, and what moves as one piece.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::words::normal;

/// What a block of lines is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Heading,
    /// A list item with all that is indented below it.
    Item,
    Text,
    Code,
    Table,
}

/// Lines that belong together. Blank lines stand between blocks and in none.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) kind: Kind,
    /// Whole lines, their ends included.
    pub(crate) range: Range<usize>,
}

pub(crate) fn blocks(body: &str) -> Vec<Block> {
    let mut reader = Reader { blocks: Vec::new(), open: None, at: 0 };
    for line in body.split_inclusive('\n') {
        reader.take(line);
    }
    reader.blocks
}

struct Reader {
    blocks: Vec<Block>,
    open: Option<Open>,
    at: usize,
}

/// What the next line may go on with.
enum Open {
    /// Until the same fence.
    Code(String),
    /// Columns that the item's bullet is indented by.
    Item(usize),
    Text,
    Table,
}

impl Reader {
    fn take(&mut self, line: &str) {
        let range = self.at..self.at + line.len();
        self.at = range.end;
        let bare = line.trim();
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        if let Some(Open::Code(fence)) = &self.open {
            if bare.starts_with(fence.as_str()) {
                self.open = None;
            }
            return self.grow(range);
        }
        if bare.is_empty() {
            // A blank line ends all but an item, whose indented lines may follow.
            if !matches!(self.open, Some(Open::Item(_))) {
                self.open = None;
            }
            return;
        }
        if let Some(Open::Item(column)) = self.open
            && (indent > column || !parted(&self.blocks, range.start) && starts(bare).is_none())
        {
            return self.grow(range);
        }
        let (kind, open) = match starts(bare) {
            Some(Kind::Code) => (Kind::Code, Some(Open::Code(bare.chars().take(3).collect()))),
            Some(Kind::Heading) => (Kind::Heading, None),
            Some(Kind::Item) => (Kind::Item, Some(Open::Item(indent))),
            Some(Kind::Table) if matches!(self.open, Some(Open::Table)) => return self.grow(range),
            Some(Kind::Table) => (Kind::Table, Some(Open::Table)),
            _ if matches!(self.open, Some(Open::Text)) => return self.grow(range),
            _ => (Kind::Text, Some(Open::Text)),
        };
        self.blocks.push(Block { kind, range });
        self.open = open;
    }

    fn grow(&mut self, range: Range<usize>) {
        if let Some(block) = self.blocks.last_mut() {
            block.range.end = range.end;
        }
    }
}

/// A blank line stands between the newest block and what begins here.
fn parted(blocks: &[Block], at: usize) -> bool {
    blocks.last().is_none_or(|block| block.range.end != at)
}

fn starts(line: &str) -> Option<Kind> {
    if line.starts_with("```") || line.starts_with("~~~") {
        return Some(Kind::Code);
    }
    if line.starts_with('#') && line.trim_start_matches('#').starts_with([' ', '\t']) {
        return Some(Kind::Heading);
    }
    if line.starts_with('|') {
        return Some(Kind::Table);
    }
    bullet(line).map(|_| Kind::Item)
}

/// How long the mark of a list item is, the space after it included.
pub(crate) fn bullet(line: &str) -> Option<usize> {
    if line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ") {
        return Some(2);
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = &line[digits..];
    (digits > 0 && digits <= 4 && (rest.starts_with(". ") || rest.starts_with(") ")))
        .then_some(digits + 2)
}

/// One sentence of prose, where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Sentence {
    pub(crate) range: Range<usize>,
    pub(crate) normal: String,
}

/// Every sentence of a body; a line of code or of a table counts as one.
pub(crate) fn sentences(body: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    for block in blocks(body) {
        let prose = matches!(block.kind, Kind::Item | Kind::Text);
        let start = block.range.start;
        for piece in pieces(&body[block.range], prose) {
            push(body, start + piece.start..start + piece.end, &mut found);
        }
    }
    found
}

/// As the set that says whether one text holds all of another.
pub(crate) fn said(body: &str) -> BTreeSet<String> {
    sentences(body).into_iter().map(|sentence| sentence.normal).collect()
}

fn push(body: &str, range: Range<usize>, found: &mut Vec<Sentence>) {
    let text = &body[range.clone()];
    let lead = text.len() - text.trim_start().len();
    let mark = bullet(text.trim_start()).unwrap_or(0);
    let start = range.start + lead + mark;
    let end = range.start + text.trim_end().len();
    let normal = normal(&body[start.min(end)..end]);
    if normal.chars().any(char::is_alphanumeric) {
        found.push(Sentence { range: start..end, normal });
    }
}

/// Where sentences stand in a block: each line of what is no prose; of prose, up to an end mark, or to a line
/// that begins an item.
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

/// After an end mark that ends the line, or that a space and the beginning of a sentence follow.
fn stops(line: &str) -> impl Iterator<Item = usize> + '_ {
    let begins = |rest: &str| {
        let next = rest.trim_start().chars().next();
        let opens = |c: char| c.is_uppercase() || matches!(c, '`' | '*' | '"' | '“' | '~');
        rest.trim().is_empty() || rest.starts_with(' ') && next.is_some_and(opens)
    };
    line.match_indices(['.', '!', '?'])
        .map(|(at, mark)| at + mark.len())
        .filter(move |end| begins(&line[*end..]) && !crate::words::is_code(line, *end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expect: &[(Kind, &str)]) {
        let found: Vec<_> =
            blocks(body).into_iter().map(|block| (block.kind, &body[block.range])).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn a_body_is_cut_into_blocks() {
        check(
            "# One\n\nTwo\nthree\n\n- four\n  five\n\n  six\n- seven\n\n```\n- code\n\n```\n| a |\n| b |\n",
            &[
                (Kind::Heading, "# One\n"),
                (Kind::Text, "Two\nthree\n"),
                (Kind::Item, "- four\n  five\n\n  six\n"),
                (Kind::Item, "- seven\n"),
                (Kind::Code, "```\n- code\n\n```\n"),
                (Kind::Table, "| a |\n| b |\n"),
            ],
        );
        check("\n\n", &[]);
        check("```\nopen", &[(Kind::Code, "```\nopen")]);
        check("- a\nlazy\n\nafter", &[(Kind::Item, "- a\nlazy\n"), (Kind::Text, "after")]);
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
