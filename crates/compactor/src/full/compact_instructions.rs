//! A project's instructions for every summary, which are a section of its instruction file.

use bethink_transcript::text::{beginning, closed_fences, heading_level};

use crate::limits::INSTRUCTIONS_BYTES;

const HEADING: &str = "compact instructions";

/// Returns the text below the heading "Compact instructions", of any level and in any case, up to the next heading of the same
/// or a higher level. If there are several such sections, the first that is not empty is used. At most [`INSTRUCTIONS_BYTES`],
/// cut at a line ending.
pub fn compact_instructions(markdown: &str) -> Option<String> {
    let lines: Vec<&str> = markdown.trim_start_matches('\u{feff}').lines().collect();
    let fenced = closed_fences(&lines);
    let level = |at: usize| heading_level(lines.get(at)?).filter(|_| !fenced[at]);
    let mut texts = (0..lines.len()).filter_map(|at| {
        let own = level(at).filter(|_| is_ours(lines[at]))?;
        let ends = |line: &usize| level(*line).is_some_and(|other| other <= own);
        let end = (at + 1..lines.len()).find(ends).unwrap_or(lines.len());
        bounded(&lines[at + 1..end].join("\n"))
    });
    texts.next()
}

/// Returns the first [`INSTRUCTIONS_BYTES`] of the text; `None` if it is blank.
pub(super) fn bounded(text: &str) -> Option<String> {
    let text = beginning(text.trim(), INSTRUCTIONS_BYTES).trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

fn is_ours(line: &str) -> bool {
    let name = line.trim_matches(['#', ' ', '\t', ':', '*', '_']);
    let mut words = name.split_whitespace().map(str::to_lowercase);
    HEADING.split(' ').all(|word| words.next().as_deref() == Some(word)) && words.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(markdown: &str, expect: Option<&str>) {
        assert_eq!(compact_instructions(markdown).as_deref(), expect, "{markdown:?}");
    }

    #[test]
    fn the_section_is_found_at_any_level_and_ends_with_it() {
        check("# Compact instructions\nkeep\nall\n# Other\nx\n", Some("keep\nall"));
        check("# A\n### **COMPACT  Instructions:** ###\r\nkeep\r\n## B\nx", Some("keep"));
        check(
            "## Compact Instructions\nkeep\n### Deeper\ntoo\n## B\n",
            Some("keep\n### Deeper\ntoo"),
        );
        check("\u{feff}# compact instructions\n\n# Compact instructions\nkeep", Some("keep"));
        check("# Compact instructions\n```\n# not a heading\n```\nkeep", {
            Some("```\n# not a heading\n```\nkeep")
        });
    }

    #[test]
    fn other_headings_do_not_count() {
        check("", None);
        check("Compact instructions\nkeep\n", None);
        check("#Compact instructions\nkeep\n", None);
        check("# Compact instructions for the build\nkeep\n", None);
        check("# A\n```md\n# Compact instructions\nkeep\n```\n", None);
        check("# Compact instructions\n \n# B\nkeep", None);
    }

    #[test]
    fn a_long_section_is_cut_at_a_line_end() {
        let long = format!("# Compact instructions\n{}", "twelve bytes\n".repeat(1_000));
        let found = compact_instructions(&long).unwrap();
        let expect = INSTRUCTIONS_BYTES - 25..=INSTRUCTIONS_BYTES;
        assert!(expect.contains(&found.len()), "{}", found.len());
        assert!(found.ends_with("twelve bytes"));
    }
}
