//! A Markdown file as sections, read leniently: any text is a valid document.

use bethink_transcript::text::{closed_fences, heading_level};

/// The parts of a file between its headings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    pub preamble: Vec<String>,
    pub parts: Vec<NotesSection>,
    /// Whether the file has Windows line endings.
    pub crlf: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotesSection {
    /// The text without the `#` marks.
    pub heading: String,
    /// The heading's line as it was in the file; empty for a new heading.
    pub raw: String,
    pub lines: Vec<String>,
}

impl Document {
    /// Splits text at headings of at most `level` marks; deeper headings are ordinary lines. Headings inside fenced
    /// code do not count, unless the fence is never closed, which is a mistake.
    pub fn parse(text: &str, level: usize) -> Self {
        Self::parse_with(text, level, &|_| false)
    }

    /// Like [`Self::parse`], but a `known` heading counts even inside a fence: two stray fences must not
    /// hide the sections between them.
    pub fn parse_with(text: &str, level: usize, known: &dyn Fn(&str) -> bool) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        // Some editors end lines with only a carriage return.
        let end = if text.contains('\n') { '\n' } else { '\r' };
        let lines: Vec<&str> =
            text.split(end).map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        // Blank lines do not show which line endings a person uses.
        let written = lines.iter().filter(|line| !line.trim().is_empty()).count();
        let crlf = written > 0 && text.matches("\r\n").count() * 2 > lines.len();
        let fences = closed_fences(&lines);
        let mut document = Self { crlf, ..Self::default() };
        for (line, fenced) in lines.into_iter().zip(fences) {
            match heading(line, level).filter(|heading| !fenced || known(heading)) {
                Some(heading) => {
                    let (heading, raw) = (heading.to_owned(), line.trim_end().to_owned());
                    let part = NotesSection { heading, raw, lines: Vec::new() };
                    document.parts.push(part);
                }
                None => match document.parts.last_mut() {
                    Some(part) => part.lines.push(line.to_owned()),
                    None => document.preamble.push(line.to_owned()),
                },
            }
        }
        document
    }

    /// Renders the document, with blank lines between parts and new headings at `level`.
    pub fn render(&self, level: usize) -> String {
        let marks = "#".repeat(level.max(1));
        let mut blocks = Vec::with_capacity(self.parts.len() + 1);
        blocks.push(trimmed(&self.preamble).join("\n"));
        for part in &self.parts {
            let mut block = match part.raw.is_empty() {
                true => format!("{marks} {}", part.heading),
                false => part.raw.clone(),
            };
            for line in trimmed(&part.lines) {
                block.push('\n');
                block.push_str(line);
            }
            blocks.push(block);
        }
        blocks.retain(|block| !block.is_empty());
        let text = blocks.join("\n\n") + "\n";
        if self.crlf { text.replace('\n', "\r\n") } else { text }
    }
}

/// Removes blank lines at both ends.
pub(crate) fn trimmed(lines: &[String]) -> &[String] {
    let blank = |line: &String| line.trim().is_empty();
    let start = lines.iter().position(|line| !blank(line)).unwrap_or(lines.len());
    let end = lines.iter().rposition(|line| !blank(line)).map_or(start, |at| at + 1);
    lines.get(start..end).unwrap_or_default()
}

/// Whether a person would read both as the same heading: case and spacing are ignored.
pub(crate) fn same_heading(a: &str, b: &str) -> bool {
    folded(a).eq(folded(b))
}

/// Converts text to lower case with uniform spacing. Returns an iterator rather than a string, because thousands of
/// headings are compared with each heading of the template and with each written row.
pub(crate) fn folded(text: &str) -> impl Iterator<Item = char> {
    text.split_whitespace().flat_map(|word| word.chars().flat_map(char::to_lowercase).chain([' ']))
}

fn heading(line: &str, level: usize) -> Option<&str> {
    let marks = heading_level(line).filter(|marks| *marks <= level)?;
    Some(line.get(marks..)?.trim().trim_end_matches('#').trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, headings: &[&str], preamble: usize) {
        let document = Document::parse(text, 1);
        let found: Vec<_> = document.parts.iter().map(|part| part.heading.as_str()).collect();
        assert_eq!(found, headings, "{text:?}");
        assert_eq!(trimmed(&document.preamble).len(), preamble, "{text:?}");
    }

    #[test]
    fn any_text_is_a_document() {
        check("", &[], 0);
        check("\n \n", &[], 0);
        check("no heading\nat all", &[], 2);
        check("# A\nx\n# B ##\n", &["A", "B"], 0);
        check("\u{feff}# A\r\nx\r\n# A\r\n", &["A", "A"], 0);
        check("\u{feff}\u{feff}# A\n", &["A"], 0);
        check("# A\rx\r# B\r", &["A", "B"], 0);
        check("#\n#x\n## deeper\n# A", &["", "A"], 0);
        check("\0\u{fffd}# A\n####### seven", &[], 2);
    }

    #[test]
    fn a_heading_counts_outside_code_and_after_an_unclosed_fence() {
        check("# A\n```sh\n# comment\n```\n# B", &["A", "B"], 0);
        check("# A\n~~~\n```\n# comment\n~~~\n# B", &["A", "B"], 0);
        check("# A\n```sh\n# B\nx", &["A", "B"], 0);
    }

    #[test]
    fn a_known_heading_is_one_even_between_stray_fences() {
        let text = "# A\n```\n# B\n# comment\n```\n";
        let document = Document::parse_with(text, 1, &|heading| heading == "B");
        let found: Vec<_> = document.parts.iter().map(|part| part.heading.as_str()).collect();
        assert_eq!(found, ["A", "B"]);
        assert_eq!(document.parts[1].lines[0], "# comment");
    }

    #[test]
    fn a_file_comes_back_with_its_line_ends() {
        for text in ["# A\nx\n\n## y\nz\n\n# B\n", "# A\r\nx\r\n\r\n# B\r\n", "pre\n\n# A\n"] {
            assert_eq!(Document::parse(text, 1).render(1), text);
        }
    }
}
