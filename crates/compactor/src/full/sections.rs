//! Finds the nine sections in a model's text. Headings are recognized by name, because models number them, make them
//! headings or bold, or continue on the same line.

use std::sync::LazyLock;

use bethink_transcript::text::{closed_fences, open_fence};

use crate::section::Section;

/// Maximum number of spaces before a heading.
const INDENT: usize = 3;

/// Sections in the order of a summary. Text before the first heading is dropped.
pub(super) type FoundSections = Vec<(Section, String)>;

/// Finds sections leniently: a heading within fenced code is code, unless a section would otherwise be missing.
pub(super) fn find(text: &str) -> FoundSections {
    let lines = outdented(text);
    let strict = collect(&lines, &closed_fences(&lines));
    if strict.len() == Section::ALL.len() {
        return strict;
    }
    let lenient = collect(&lines, &vec![false; lines.len()]);
    if lenient.len() > strict.len() { lenient } else { strict }
}

/// Returns the sections that are missing.
pub(super) fn missing(found: &FoundSections) -> Vec<Section> {
    let is_there = |section: &Section| found.iter().any(|(known, _)| known == section);
    Section::ALL.into_iter().filter(|section| !is_there(section)).collect()
}

fn collect(lines: &[&str], fenced: &[bool]) -> FoundSections {
    let mut found: Vec<(Section, Vec<&str>)> = Vec::new();
    let mut open: Option<usize> = None;
    for (line, fenced) in lines.iter().zip(fenced) {
        let Some((section, tail)) = heading(line).filter(|_| !fenced) else {
            if let Some((_, lines)) = open.and_then(|at| found.get_mut(at)) {
                lines.push(line);
            }
            continue;
        };
        let at = found.iter().position(|(known, _)| *known == section);
        let at = at.unwrap_or_else(|| {
            found.push((section, Vec::new()));
            found.len() - 1
        });
        found[at].1.extend((!tail.is_empty()).then_some(tail));
        open = Some(at);
    }
    found.sort_by_key(|(section, _)| Section::ALL.iter().position(|known| known == section));
    found.into_iter().map(|(section, lines)| (section, tidy(&lines))).collect()
}

/// Removes blank lines at both ends and repeated ones, and closes an open code fence.
fn tidy(lines: &[&str]) -> String {
    let mut text = String::new();
    let mut blank = false;
    for line in lines.iter().map(|line| line.trim_end()) {
        if line.is_empty() {
            blank = !text.is_empty();
            continue;
        }
        if std::mem::take(&mut blank) {
            text.push('\n');
        }
        text.push_str(line);
        text.push('\n');
    }
    close_fence(&mut text);
    text
}

pub(super) fn close_fence(text: &mut String) {
    if let Some(mark) = open_fence(text) {
        text.push_str(mark);
        text.push('\n');
    }
}

/// Removes the common indentation of all lines.
fn outdented(text: &str) -> Vec<&str> {
    let indent = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let written = text.lines().filter(|line| !line.trim().is_empty());
    let least = written.map(|line| indent(&line)).min().unwrap_or(0);
    text.lines().map(|line| line.get(least..).unwrap_or("")).collect()
}

/// Returns the section whose heading this line is, and the text after the heading.
fn heading(line: &str) -> Option<(Section, &str)> {
    let bare = line.trim_start_matches(' ');
    if line.len() - bare.len() > INDENT {
        return None;
    }
    let (bare, is_marked) = unmarked(bare);
    let (section, rest) = named(bare)?;
    let rest = rest.trim_start_matches(['*', '_']).trim_start();
    let (rest, has_colon) = rest.strip_prefix(':').map_or((rest, false), |rest| (rest, true));
    let tail = rest.trim_start_matches(['*', '_']).trim().trim_end_matches('#').trim_end();
    // "Current work was …" is a sentence, not a heading.
    let heads = tail.is_empty() || (is_marked && (has_colon || tail.starts_with('(')));
    heads.then_some((section, tail))
}

/// Removes the marks of a heading, bold text or a numbered list, and returns whether there were any.
fn unmarked(line: &str) -> (&str, bool) {
    let mut bare = line.trim_start_matches('#').trim_start();
    bare = without_bold(bare);
    let digits = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    if let Some(rest) = digits.strip_prefix(['.', ')', ':']).filter(|_| digits.len() < bare.len()) {
        bare = without_bold(rest.trim_start());
    }
    (bare, bare.len() < line.len())
}

fn without_bold(text: &str) -> &str {
    text.strip_prefix("**").or_else(|| text.strip_prefix("__")).unwrap_or(text)
}

/// Names of sections as models write them. Made once, because every line of an answer is compared with them.
static NAMES: LazyLock<Vec<(Section, String)>> = LazyLock::new(|| {
    let next = ["Optional Next Steps", "Next Steps", "Next Step"];
    let next = next.map(|name| (Section::Next, name.to_owned()));
    let known = Section::ALL.into_iter().flat_map(|section| {
        [section.name().to_owned(), section.name().replace(" and ", " & ")]
            .map(|name| (section, name))
    });
    next.into_iter().chain(known).collect()
});

/// Returns the section whose name a text begins with, and the text after the name.
fn named(text: &str) -> Option<(Section, &str)> {
    NAMES.iter().find_map(|(section, name)| {
        let head = text.get(..name.len())?;
        head.eq_ignore_ascii_case(name).then(|| (*section, &text[name.len()..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: Option<(Section, &str)>) {
        assert_eq!(heading(line), expect, "{line:?}");
    }

    #[test]
    fn a_heading_is_recognized_by_its_name() {
        check("## 8. Current Work", Some((Section::Current, "")));
        check("8) current work:", Some((Section::Current, "")));
        check("  **8. Current Work:**", Some((Section::Current, "")));
        check("### Current Work ###", Some((Section::Current, "")));
        check("Current Work", Some((Section::Current, "")));
        check("4. **Errors & fixes**: none", Some((Section::Errors, "none")));
        check("**Current Work:** mending it", Some((Section::Current, "mending it")));
        check("9. Next Steps (optional)", Some((Section::Next, "(optional)")));
        check("## Optional Next Step:", Some((Section::Next, "")));
    }

    #[test]
    fn a_line_of_text_is_not_a_heading() {
        for line in [
            "Current work was on the parser",
            "- Current Work: mending it",
            "* Current Work",
            "    3. Current Work: nested",
            "8. Current Works: x",
            "Pending tasks, of which two",
            "",
        ] {
            check(line, None);
        }
    }

    #[test]
    fn code_is_not_a_heading_unless_a_section_is_missing() {
        let all = |code: &str| {
            let mut text = String::new();
            for section in Section::ALL.into_iter().filter(|s| *s != Section::Errors) {
                text.push_str(&format!("{}\nabout it\n", section.heading()));
            }
            text.replace("## 5.", &format!("{code}\n## 5."))
        };
        let quoted = all("```\n## 8. Current Work\nquoted\n```\n## 4. Errors and Fixes\nreal");
        let found = find(&quoted);
        assert_eq!(missing(&found), []);
        assert_eq!(found[7].1, "about it\n");
        assert!(found[2].1.contains("quoted"), "{found:?}");
        let slip = find(&all("```\nslip\n## 4. Errors and Fixes\nreal\n```"));
        assert_eq!(missing(&slip), []);
        assert_eq!(slip[2].1, "about it\n```\nslip\n```\n");
    }

    #[test]
    fn order_repetition_and_indentation_do_not_matter() {
        let mut text = String::from("    ## 9. Optional Next Step\n      go on\n");
        for section in Section::ALL.into_iter().rev().skip(1) {
            text.push_str(&format!("    {}\n\n\n    one\n\n\n      two\n", section.heading()));
        }
        text.push_str("    ## 9. Optional Next Step\n    then stop\n");
        let found = find(&text);
        assert_eq!(missing(&found), []);
        assert_eq!(found[0].1, "one\n\n  two\n");
        assert_eq!(found[8].1, "  go on\nthen stop\n");
    }
}
