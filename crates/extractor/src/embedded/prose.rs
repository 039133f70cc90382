//! Finds the prose that a person wrote in a message, sentence by sentence.
//!
//! Code, pastes, quotations, program output and text below headings are left out: see [`lines`].

mod copied;
mod lines;
mod tags;

use lines::{ProseLine, prose_lines};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sentence<'a> {
    pub text: &'a str,
    /// Number of the paragraph or list item.
    pub paragraph: usize,
    /// Whether the sentence is in a list item.
    pub item: bool,
}

impl Sentence<'_> {
    pub fn opens(&self) -> bool {
        self.text.ends_with([':', '：'])
    }
}

pub fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut reader = SentenceReader { text, ..SentenceReader::default() };
    for line in prose_lines(text) {
        match line {
            ProseLine::Own { start, body, marker, in_list } => {
                reader.add(start, body, marker, in_list);
            }
            ProseLine::Break => reader.end_paragraph(),
        }
    }
    reader.end_paragraph();
    reader.found
}

/// Minimum size of a line that may be wrapped, in bytes. If the line after it begins in lower case, it continues the
/// sentence.
const WRAPPED_BYTES: usize = 50;

/// Maximum size of a sentence, in bytes. Longer ones are ignored: they rarely state a memory, and matching them could take
/// quadratic time.
const MAX_SENTENCE_BYTES: usize = 2_000;

#[derive(Default)]
struct SentenceReader<'a> {
    text: &'a str,
    found: Vec<Sentence<'a>>,
    /// The current paragraph, as a range of bytes.
    open: Option<std::ops::Range<usize>>,
    paragraphs: usize,
    /// Whether the paragraph is a list item or follows one.
    in_list: bool,
    /// The mark that ends a quotation of several paragraphs, if the paragraph is part of one.
    in_quote: Option<char>,
}

impl<'a> SentenceReader<'a> {
    fn add(&mut self, start: usize, body: &'a str, marker: usize, in_list: bool) {
        let end = start + body.len();
        let continues = marker == 0
            && self.open.as_ref().is_some_and(|open| {
                let before = self.text.get(open.clone()).unwrap_or_default();
                let last = before.rsplit('\n').next().unwrap_or_default();
                last.len() >= WRAPPED_BYTES
                    && !before.ends_with(['.', '!', '?', ':'])
                    && body.starts_with(char::is_lowercase)
            });
        match &mut self.open {
            Some(open) if continues => open.end = end,
            _ => {
                let same_block = self.open.is_some() && marker == 0;
                self.end_paragraph();
                if !same_block {
                    self.paragraphs += 1;
                }
                self.open = Some(start + marker..end);
                self.in_list = in_list;
            }
        }
    }

    fn end_paragraph(&mut self) {
        let Some(open) = self.open.take() else { return };
        let text = self.text.get(open).unwrap_or_default();
        let (paragraph, item) = (self.paragraphs, self.in_list);
        let own = self.unquoted(text);
        let found = split(own).into_iter().filter(|text| text.len() <= MAX_SENTENCE_BYTES);
        let found = found.map(|text| Sentence { text, paragraph, item });
        self.found.extend(found);
    }

    /// Returns the part of a paragraph outside a quotation of several paragraphs.
    fn unquoted(&mut self, text: &'a str) -> &'a str {
        let was_in_quote = self.in_quote.is_some();
        let mut opened = text.len();
        for (at, mark) in quotation_marks(text) {
            match self.in_quote {
                Some(end) if is_end(mark, end) => self.in_quote = None,
                Some(_) => {}
                None => {
                    self.in_quote = end_of(mark);
                    opened = at;
                }
            }
        }
        match (was_in_quote, self.in_quote) {
            // Text after the quotation is left out, too, because it continues the same sentence.
            (true, _) => "",
            (false, Some(_)) => text.get(..opened).unwrap_or_default(),
            (false, None) => text,
        }
    }
}

/// Returns the mark that ends a quotation that `mark` opens, or `None` if `mark` opens none.
fn end_of(mark: char) -> Option<char> {
    let end = match mark {
        '"' => '"',
        '“' => '”',
        '„' => '“',
        '«' => '»',
        '「' => '」',
        '『' => '』',
        _ => return None,
    };
    Some(end)
}

/// Whether a mark ends a quotation. A German quotation ends with the mark that opens an English one, or with the mark
/// that ends an English one.
fn is_end(mark: char, end: char) -> bool {
    mark == end || (end == '“' && mark == '”')
}

/// Returns the offsets of quotation marks, except straight ones for inches.
fn quotation_marks(text: &str) -> impl Iterator<Item = (usize, char)> {
    let is_inch = |at: usize| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        before.is_some_and(|c| c.is_ascii_digit())
    };
    let marks = text.char_indices().filter(|(_, c)| "\"“”„«»「」『』".contains(*c));
    marks.filter(move |(at, c)| *c != '"' || !is_inch(*at))
}

fn split(paragraph: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut in_quote = false;
    let mut places = paragraph.char_indices().peekable();
    while let Some((at, c)) = places.next() {
        let before = paragraph.get(..at).and_then(|before| before.chars().next_back());
        in_quote = match c {
            '"' if !before.is_some_and(|c| c.is_ascii_digit()) => !in_quote,
            '“' | '„' | '«' | '「' | '『' => true,
            '”' | '»' | '」' | '』' => false,
            _ => in_quote,
        };
        let next = places.peek().map(|(_, c)| *c);
        let after = at + c.len_utf8();
        let ends = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => {
                next.is_some_and(char::is_whitespace)
                    && begins_sentence(paragraph.get(after..).unwrap_or_default())
                    && !(c == '.' && is_abbreviation(paragraph.get(start..at).unwrap_or_default()))
            }
            _ => false,
        };
        if ends && !in_quote {
            found.push(paragraph.get(start..after).unwrap_or_default().trim());
            start = after;
        }
    }
    found.push(paragraph.get(start..).unwrap_or_default().trim());
    found.retain(|sentence| sentence.chars().any(char::is_alphabetic));
    found
}

/// Whether a sentence may begin here. People do not always begin in upper case, so case does not matter.
fn begins_sentence(rest: &str) -> bool {
    rest.trim_start().starts_with(|c: char| !matches!(c, ',' | ';' | ')'))
}

fn is_abbreviation(before: &str) -> bool {
    const KNOWN: [&str; 14] = [
        "e.g", "i.e", "etc", "vs", "cf", "approx", "dr", "mr", "mrs", "ms", "z.b", "bzw", "ca",
        "p.ej",
    ];
    let word = before.rsplit([' ', '(', '\n']).next().unwrap_or_default().to_lowercase();
    KNOWN.contains(&word.as_str()) || (word.chars().count() == 1 && word != "i")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        let found: Vec<&str> = sentences(text).iter().map(|sentence| sentence.text).collect();
        assert_eq!(found, expect, "{text}");
        assert!(found.iter().all(|sentence| text.contains(sentence)));
    }

    #[test]
    fn prose_is_split_into_sentences() {
        check("Use tabs. Then run it! ok?", &["Use tabs.", "Then run it!", "ok?"]);
        check("use tabs e.g. in Go files. thanks", &["use tabs e.g. in Go files.", "thanks"]);
        check("edit lib.rs and v1.2 of it", &["edit lib.rs and v1.2 of it"]);
        check("- one thing\n- another. And more", &["one thing", "another.", "And more"]);
        check("1. lint fails\n2) new comments", &["lint fails", "new comments"]);
        let wrapped =
            "this is a long line that somebody has wrapped by hand\nand that goes on here";
        check(wrapped, &[wrapped]);
        check("不要提交。以后用中文回答。", &["不要提交。", "以后用中文回答。"]);
        check("", &[]);
        check("...\n?!", &[]);
    }

    #[test]
    fn copied_text_is_not_prose() {
        check("look:\n```\nAlways use tabs.\n```\ndone", &["look:", "done"]);
        check("```\nAlways use tabs.", &[]);
        check("> Always use tabs.\nno", &["no"]);
        check("    Always use tabs.\n\tNever.\nyes", &["yes"]);
        check("what is this\n\n  Always use tabs.\n", &["what is this"]);
        check("<bash-stdout>x\nAlways use tabs.\n</bash-stdout>\nyes", &["yes"]);
        check("<note>Always use tabs.</note>\nyes", &["yes"]);
        let closes_itself = "<bash-stdout>x\n</bash-stdout>\nAlways use tabs.\n</bash-stdout>\nyes";
        check(closes_itself, &["yes"]);
        check("look at this\n\nHuman: always use tabs.\nI never will.", &["look at this"]);
        check("ok\n**User**: always use tabs.", &["ok"]);
        check("user: the account. Users: many", &[]);
        check("users: many", &["users: many"]);
        check("do this plan:\n\n# Plan\n\nAlways use tabs.\n", &["do this plan:"]);
        check("2026-11-22 10:00:01 never mind\nERROR always fails\n\nok", &["ok"]);
        check("⏺ I will always use tabs.\nlet x = 1;\nfn main() {\n|a|b|\n\nok", &["ok"]);
    }

    #[test]
    fn a_quotation_is_not_split() {
        check(
            "he wrote \"Use tabs. Never spaces.\" ok. Right",
            &["he wrote \"Use tabs. Never spaces.\" ok.", "Right"],
        );
        check(
            "got this \"Use tabs.\n\nNever spaces.\nAnd so on\" there\n\nmine",
            &["got this", "mine"],
        );
        check("a 5\" screen. And more", &["a 5\" screen.", "And more"]);
    }

    #[test]
    fn items_of_a_list_may_be_indented() {
        check("rules:\n- a word\n  goes on\n  - inner one\n", {
            &["rules:", "a word", "goes on", "inner one"]
        });
        let found = sentences("rules:\n- a word\n\nafter");
        let items: Vec<bool> = found.iter().map(|sentence| sentence.item).collect();
        assert_eq!(items, [false, true, false]);
        assert!(found[0].opens());
    }
}
