//! Finds the prose that a person wrote in a message, sentence by sentence.
//!
//! Code, pastes, quotations, program output and text below headings are left out, because copied text does not express
//! the person's own views. When in doubt, a line is left out.

use super::table::TABLE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sentence<'a> {
    pub text: &'a str,
    /// Number of the paragraph or list item.
    pub paragraph: usize,
    /// Whether it is in a list item.
    pub item: bool,
}

impl Sentence<'_> {
    pub fn opens(&self) -> bool {
        self.text.ends_with([':', '：'])
    }
}

pub fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut reader = SentenceReader { text, ..SentenceReader::default() };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if !reader.line(start, line.trim_end()) {
            break;
        }
    }
    reader.end_paragraph();
    reader.found
}

/// Minimum size of a wrapped line, in bytes: the next line continues it if it begins in lower case.
const WRAPPED_BYTES: usize = 50;
/// Minimum indentation of code, in columns.
const CODE_INDENT: usize = 4;
/// Minimum indentation of text that was copied from a terminal, in columns, outside a list.
const PASTE_INDENT: usize = 2;

/// Maximum size of a sentence, in bytes. Longer ones teach nothing, and the rules after this one may take quadratic time.
const MAX_SENTENCE_BYTES: usize = 2_000;

#[derive(Default)]
struct SentenceReader<'a> {
    text: &'a str,
    found: Vec<Sentence<'a>>,
    /// The current paragraph, as a range of bytes.
    open: Option<std::ops::Range<usize>>,
    paragraphs: usize,
    in_fence: bool,
    /// Where the closing tag of a block begins. Lines up to it belong to the block.
    until: Option<usize>,
    /// Whether the paragraph is a list item or follows one.
    in_list: bool,
    /// Whether the paragraph is part of a quotation of several paragraphs.
    in_quote: bool,
}

impl<'a> SentenceReader<'a> {
    /// Reads a line; returns `false` if the rest of the message is not prose.
    fn line(&mut self, start: usize, line: &'a str) -> bool {
        let body = line.trim_start();
        let indent = line.len() - body.len();
        if body.starts_with("```") || body.starts_with("~~~") {
            self.in_fence = !self.in_fence;
            self.end_paragraph();
            return true;
        }
        if self.in_fence || self.is_in_tags(start, body) {
            return true;
        }
        if body.is_empty() {
            self.end_paragraph();
            return true;
        }
        if is_heading(line) || names_speaker(body) {
            return false;
        }
        let marker = list_marker(body);
        let is_copied = indent >= CODE_INDENT
            || line.starts_with('\t')
            || (indent >= PASTE_INDENT && !self.in_list)
            || is_machine_made(body);
        if is_copied && !(self.in_list && marker > 0) {
            self.end_paragraph();
            return true;
        }
        self.add(start + indent, body, marker);
        true
    }

    fn add(&mut self, start: usize, body: &'a str, marker: usize) {
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
                self.in_list = marker > 0 || (same_block && self.in_list);
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
        let marks: Vec<usize> = quotation_marks(text).collect();
        if self.in_quote {
            self.in_quote = marks.len().is_multiple_of(2);
            // Text after the quotation is left out, too, because it continues the same sentence.
            return "";
        }
        match marks.last() {
            Some(last) if marks.len() % 2 == 1 => {
                self.in_quote = true;
                text.get(..*last).unwrap_or_default()
            }
            _ => text,
        }
    }

    /// Whether the line that begins at `start` opens a block `<tag> … </tag>` or belongs to one. A block ends at
    /// the last closing tag of its name: its content may contain the tag, too.
    fn is_in_tags(&mut self, start: usize, body: &str) -> bool {
        if self.until.is_some_and(|until| start <= until) {
            return true;
        }
        let Some(rest) = body.strip_prefix('<') else { return false };
        let name: String =
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
        if name.is_empty() {
            return false;
        }
        let rest = self.text.get(start..).unwrap_or_default();
        let closing = rest.rfind(&format!("</{name}>"));
        self.until = Some(closing.map_or(self.text.len(), |at| start + at));
        self.end_paragraph();
        true
    }
}

/// Returns the offsets of straight quotation marks, except those for inches.
fn quotation_marks(text: &str) -> impl Iterator<Item = usize> {
    let is_inch = |at: usize| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        before.is_some_and(|c| c.is_ascii_digit())
    };
    text.match_indices('"').map(|(at, _)| at).filter(move |at| !is_inch(*at))
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6).contains(&level) && rest.starts_with(' ')
}

/// Whether a line begins with `Human:`, `User:` or `Assistant:`. The rest of such a message is a pasted conversation.
fn names_speaker(body: &str) -> bool {
    let name = body.trim_start_matches(['*', '_', '[', '#', ' ']);
    TABLE.speakers.iter().any(|speaker| {
        let rest = name.get(speaker.len()..).filter(|_| {
            name.get(..speaker.len()).is_some_and(|name| name.eq_ignore_ascii_case(speaker))
        });
        rest.is_some_and(|rest| rest.trim_start_matches(['*', '_', ']', ' ']).starts_with(':'))
    })
}

/// Returns the length of `- `, `* `, `3. ` or `3) ` at the beginning, in bytes.
fn list_marker(body: &str) -> usize {
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let rest = body.get(digits..).unwrap_or_default();
    let sign = match rest.chars().next() {
        Some('.' | ')') if (1..=3).contains(&digits) => 1,
        Some(c @ ('-' | '*' | '+' | '•')) if digits == 0 => c.len_utf8(),
        _ => return 0,
    };
    let after = rest.get(sign..).unwrap_or_default();
    let spaces = after.len() - after.trim_start_matches(' ').len();
    if spaces == 0 { 0 } else { digits + sign + spaces }
}

/// Whether a line is pasted output: a log, diff, stack trace, prompt, table, or code.
fn is_machine_made(body: &str) -> bool {
    let begins = |text: &str, list: &[String]| list.iter().any(|start| text.starts_with(start));
    begins(body, &TABLE.pasted_beginnings)
        || begins(body.trim_start_matches('['), &TABLE.log_levels)
        || begins_with_date(body)
        || body.ends_with(['{', ';'])
        || is_mostly_signs(body)
}

/// Whether a line begins like `2026-11-22T…` or `[2026-11-22 …`.
fn begins_with_date(body: &str) -> bool {
    let bytes = body.trim_start_matches('[').as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    digits(0..4) && bytes.get(4) == Some(&b'-') && digits(5..7) && bytes.get(7) == Some(&b'-')
}

/// Whether at least a quarter of the characters are neither letters nor punctuation.
fn is_mostly_signs(body: &str) -> bool {
    let signs = body.chars().filter(|c| {
        !c.is_alphanumeric() && !c.is_whitespace() && !".,;:!?'\"’“”()-/`、。，！？".contains(*c)
    });
    signs.count() * 4 >= body.chars().count()
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
            '“' | '„' | '«' => true,
            '”' | '»' => false,
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
        check("2026-11-22 10:00:01 never mind\nERROR always fails\n$ never\nok", &["ok"]);
        check("⏺ I will always use tabs.\nlet x = 1;\nfn main() {\n|a|b|\nok", &["ok"]);
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
