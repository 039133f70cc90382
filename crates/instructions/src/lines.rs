//! Reads Markdown line by line, and distinguishes code from prose.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineContext {
    Prose,
    Blank,
    /// A line of a fenced code block, including its fences, or a line that is indented by four columns.
    Code,
}

/// Reads the lines of a file in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineReader {
    /// Character and length of the open fence.
    fence: Option<(u8, usize)>,
    /// Whether the previous line is prose, so that an indented line continues it and is not code.
    after_prose: bool,
    in_list: bool,
}

impl LineReader {
    pub(crate) fn place(&mut self, line: &str) -> LineContext {
        let text = line.trim_end();
        if let Some(open) = self.fence {
            if closes(text, open) {
                self.fence = None;
            }
            return LineContext::Code;
        }
        if text.is_empty() {
            self.after_prose = false;
            return LineContext::Blank;
        }
        if self.is_indented_code(text) {
            return LineContext::Code;
        }
        self.fence = fence(text);
        self.follow_list(text);
        self.after_prose = true;
        if self.fence.is_some() { LineContext::Code } else { LineContext::Prose }
    }

    fn is_indented_code(&self, text: &str) -> bool {
        !self.after_prose && !self.in_list && indent(text) >= 4
    }

    /// Records whether the line is part of a list: indented text after a list item belongs to the item.
    fn follow_list(&mut self, text: &str) {
        if after_marker(text.trim_start()).is_some() {
            self.in_list = true;
        } else if indent(text) == 0 && !self.after_prose {
            self.in_list = false;
        }
    }
}

/// Returns the number of columns before the first character. A tab moves to the next multiple of four.
fn indent(text: &str) -> usize {
    let mut columns = 0;
    for byte in text.bytes() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4 - columns % 4,
            _ => break,
        }
    }
    columns
}

/// Returns the fence that this line opens, if any. The fence may be in a quotation or at the beginning of a list item.
fn fence(text: &str) -> Option<(u8, usize)> {
    let mut rest = text.trim_start_matches([' ', '\t', '>']);
    while let Some(inner) = after_marker(rest) {
        rest = inner.trim_start();
    }
    let (mark, length) = run(rest)?;
    // If another backtick follows, the backticks are a code span and not a fence.
    let info = rest.get(length..).unwrap_or_default();
    (mark != b'`' || !info.contains('`')).then_some((mark, length))
}

fn closes(text: &str, (mark, length): (u8, usize)) -> bool {
    let rest = text.trim_start_matches([' ', '\t', '>']);
    run(rest).is_some_and(|(m, l)| m == mark && l >= length && rest.len() == l)
}

/// Returns a run of three or more of the same fence character.
fn run(text: &str) -> Option<(u8, usize)> {
    let mark = *text.as_bytes().first().filter(|b| matches!(b, b'`' | b'~'))?;
    let length = text.bytes().take_while(|b| *b == mark).count();
    (length >= 3).then_some((mark, length))
}

/// Returns the text after `- `, `* `, `+ `, `1. ` or `1) `.
fn after_marker(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => text.strip_prefix(['-', '*', '+'])?,
        1..=9 => text.get(digits..)?.strip_prefix(['.', ')'])?,
        _ => return None,
    };
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix([' ', '\t']) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the kind of each line: `c` for code, `p` for prose, `.` for blank.
    fn check(text: &str, expect: &str) {
        let mut lines = LineReader::default();
        let places: String = text
            .lines()
            .map(|line| match lines.place(line) {
                LineContext::Code => 'c',
                LineContext::Prose => 'p',
                LineContext::Blank => '.',
            })
            .collect();
        assert_eq!(places, expect, "{text}");
    }

    #[test]
    fn fences() {
        check("a\n```\nx\n\ny\n```\nb", "pcccccp");
        check("~~~ rust\n```\n~~~\nb", "cccp");
        check("````\n```\n````\nb", "cccp");
        check("- item\n\n  ```sh\n  x\n  ```\nb", "p.cccp");
        check("- ```sh\n  x\n  ```\nb", "cccp");
        check("> ```\n> x\n> ```\nb", "cccp");
        check("```never closed\nx\ny", "ccc");
        check("```a``` is a span\nb", "pp");
    }

    #[test]
    fn indented_lines() {
        check("a\n\n    code\n    code\n\nb", "p.cc.p");
        check("a\n    goes on", "pp");
        check("- a\n\n    belongs to it\n\nb\n\n    code", "p.p.p.c");
        check("\tcode", "c");
        check("1. a\n   - b\n\n     c", "pp.p");
    }
}
