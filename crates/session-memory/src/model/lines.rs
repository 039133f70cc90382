//! Turns a model's lines into lines of notes that never begin a section or a fence.

use bethink_transcript::text::{closed_fences, fence, heading_level, shorten};

/// Maximum size of a line, in bytes: a longer one is probably pasted text.
const MAX_LINE_BYTES: usize = 2_000;
/// Markdown's indentation for code without a fence.
const CODE_INDENT: &str = "    ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotesLine {
    pub(super) text: String,
    pub(super) is_code: bool,
}

impl NotesLine {
    /// Makes a line from a heading that the template does not have.
    pub(super) fn heading(name: &str) -> Self {
        Self::new(&format!("**{name}**"), false)
    }

    fn new(text: &str, is_code: bool) -> Self {
        // Code that was indented in an earlier update stays code.
        let is_code = is_code || text.starts_with(CODE_INDENT);
        Self { text: shorten(text.trim_end(), MAX_LINE_BYTES), is_code }
    }
}

/// Converts lines. Fenced code becomes indented code, because an unclosed fence would hide sections.
pub(super) fn readable(lines: &[String]) -> Vec<NotesLine> {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let fenced = closed_fences(&lines);
    let kept = lines.iter().zip(fenced).filter_map(|(line, fenced)| one(line, fenced));
    kept.filter(|line| !line.text.trim_matches(['-', '*', ' ', '\t']).is_empty()).collect()
}

fn one(line: &str, fenced: bool) -> Option<NotesLine> {
    if let Some(mark) = fence(line) {
        // Code within one line is text; a bare fence is dropped.
        let inner = line.trim().trim_matches(['`', '~']).trim();
        let is_text = line.trim().trim_start_matches(['`', '~']).contains(mark);
        return is_text.then(|| NotesLine::new(&format!("`{inner}`"), false));
    }
    if fenced {
        return Some(NotesLine::new(&format!("{CODE_INDENT}{line}"), true));
    }
    match heading_level(line) {
        Some(level) => {
            let name = line.get(level..).unwrap_or_default().trim().trim_end_matches('#');
            (!name.trim().is_empty()).then(|| NotesLine::heading(name.trim()))
        }
        None => Some(NotesLine::new(line, false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let found: Vec<String> = readable(&lines).into_iter().map(|line| line.text).collect();
        assert_eq!(found, expect, "{text:?}");
    }

    #[test]
    fn lines_never_begin_a_section_or_a_fence() {
        check("- a  \n\n  - b\nprose", &["- a", "  - b", "prose"]);
        check("### Deeper ##\n####\n-\n***", &["**Deeper**"]);
        check("```sh\n# note\nmake\n```", &["    # note", "    make"]);
        check("```\nslip\n### after it", &["slip", "**after it**"]);
        check("```make all```", &["`make all`"]);
        check(&"x".repeat(5_000), &[&format!("{}…", "x".repeat(2_000))]);
    }
}
