//! The sections of the notes: ten by default, or a person's own.

use std::collections::HashSet;

use bethink_transcript::text::{closed_fences, heading_level};

use crate::document::{Document, NotesSection, folded, same_heading, trimmed};

/// Maximum size of a template, in bytes: more than [`MAX_SECTIONS`] sections with their descriptions need.
pub const MAX_TEMPLATE_BYTES: usize = 64 * 1024;
/// Maximum number of sections in a template: more would not be an outline.
pub const MAX_SECTIONS: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SectionKind {
    Title,
    CurrentState,
    Task,
    Files,
    Workflow,
    Errors,
    Docs,
    Learnings,
    Results,
    Worklog,
}

/// The default outline: headings, each with a description of its content.
const DEFAULT: &str = include_str!("template.md");

/// Words that identify a heading's kind; the first kind that matches counts.
const WORDS: [(SectionKind, &[&str]); 10] = [
    (SectionKind::Title, &["title"]),
    (SectionKind::CurrentState, &["state", "status", "current", "now"]),
    (SectionKind::Errors, &["error", "correction", "failure", "bug"]),
    (SectionKind::Worklog, &["worklog", "log", "history", "timeline"]),
    (SectionKind::Learnings, &["learning", "learnings", "learned", "lesson", "lessons", "gotcha"]),
    (SectionKind::Results, &["result", "outcome", "answer"]),
    (SectionKind::Workflow, &["workflow", "command", "process"]),
    (SectionKind::Docs, &["docs", "codebase", "architecture", "documentation", "system"]),
    (SectionKind::Files, &["file", "function", "code"]),
    (SectionKind::Task, &["task", "specification", "goal", "request", "requirement"]),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub sections: Vec<TemplateSection>,
    /// Number of `#` marks of a section heading.
    pub level: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateSection {
    pub heading: String,
    /// Lines below the heading that describe the section's content.
    pub description: Vec<String>,
    /// `None` for a person's own section, which is left to the person or a model.
    pub kind: Option<SectionKind>,
}

/// The reason why a person's template or instruction is not used. The default is used instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OutlineFault(pub(crate) String);

impl OutlineFault {
    /// Checks the size and encoding of a person's file; `what` names the file in errors.
    pub(crate) fn check<'a>(what: &str, bytes: &'a [u8], limit: usize) -> Result<&'a str, Self> {
        let actual = bytes.len();
        if actual > limit {
            return Err(Self(format!("the {what} is {actual} bytes; at most {limit} are allowed")));
        }
        std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            Self(format!("the byte at offset {at} is not UTF-8; save the {what} as UTF-8"))
        })
    }
}

impl Default for Template {
    fn default() -> Self {
        Self::of(Document::parse(DEFAULT, 1), 1)
    }
}

impl Template {
    pub fn parse(bytes: &[u8]) -> Result<Self, OutlineFault> {
        let text = OutlineFault::check("template", bytes, MAX_TEMPLATE_BYTES)?;
        let level = outline(text)?;
        let document = Document::parse(text, level);
        let actual = document.parts.len();
        if actual > MAX_SECTIONS {
            let fault =
                format!("the template has {actual} sections; at most {MAX_SECTIONS} are allowed");
            return Err(OutlineFault(fault));
        }
        Ok(Self::of(document, level))
    }

    /// Makes a template from a document. If several headings match a kind, only the first section gets it, and the
    /// daemon does not write in the others.
    fn of(document: Document, level: usize) -> Self {
        let mut taken = Vec::new();
        let sections = document.parts.into_iter().map(|part| {
            let kind = kind_of(&part.heading).filter(|kind| !taken.contains(kind));
            taken.extend(kind);
            let description = trimmed(&part.lines).to_vec();
            TemplateSection { heading: part.heading, description, kind }
        });
        Self { sections: sections.collect(), level }
    }

    /// Splits notes into sections. A heading of the template counts even inside fenced code.
    pub(crate) fn read(&self, notes: &str) -> Document {
        Document::parse_with(notes, self.level, &|heading| self.place(heading).is_some())
    }

    /// Returns the session's title in notes of this template.
    pub fn title_in(&self, notes: &str) -> Option<String> {
        let title = self.sections.iter().find(|s| s.kind == Some(SectionKind::Title))?;
        let parts = self.read(notes).parts;
        let part = parts.iter().find(|part| same_heading(&part.heading, &title.heading))?;
        let written = part.lines.iter().map(|line| line.trim().trim_start_matches("- "));
        let mut written = written.filter(|line| !line.is_empty() && !self.is_description(line));
        written.next().map(str::to_owned)
    }

    /// Returns the notes before anything is written in them.
    pub fn bare(&self) -> String {
        let parts = self.sections.iter().map(|section| NotesSection {
            heading: section.heading.clone(),
            raw: String::new(),
            lines: section.description.clone(),
        });
        Document { parts: parts.collect(), ..Document::default() }.render(self.level)
    }

    /// Whether nothing is written in `text` yet: each of its lines is from the template.
    pub fn is_bare(&self, text: &str) -> bool {
        let document = Document::parse(text, self.level);
        let mut all = document.parts.iter().flat_map(|part| &part.lines).chain(&document.preamble);
        all.all(|line| line.trim().is_empty() || self.is_description(line))
    }

    /// Whether the line is one of the template's descriptions.
    pub(crate) fn is_description(&self, line: &str) -> bool {
        let mut own = self.sections.iter().flat_map(|section| &section.description);
        own.any(|known| !known.trim().is_empty() && known.trim() == line.trim())
    }

    pub(crate) fn place(&self, heading: &str) -> Option<usize> {
        self.sections.iter().position(|section| same_heading(&section.heading, heading))
    }
}

/// Returns the level of the highest heading, which is the sections' level. Checks the names of the sections.
fn outline(text: &str) -> Result<usize, OutlineFault> {
    let lines: Vec<&str> = text.lines().collect();
    let fences = closed_fences(&lines);
    let headings: Vec<(usize, usize)> = lines
        .iter()
        .enumerate()
        .filter(|(at, _)| !fences[*at])
        .filter_map(|(at, line)| Some((at, heading_level(line)?)))
        .collect();
    let Some(level) = headings.iter().map(|(_, level)| *level).min() else {
        let example = "a section begins with a line such as `# Current State`";
        return Err(OutlineFault(format!("the template has no heading; {example}")));
    };
    let mut seen: HashSet<String> = HashSet::new();
    for (at, _) in headings.into_iter().filter(|(_, own)| *own == level) {
        let (line, heading) = (at + 1, lines[at].trim_matches(['#', ' ', '\t']));
        if heading.is_empty() {
            let fault = format!("line {line} is a heading without a name; write `# NAME`");
            return Err(OutlineFault(fault));
        }
        if !seen.insert(folded(heading).collect()) {
            return Err(OutlineFault(format!(
                "line {line} repeats the heading {heading:?}; every section needs a name of its own"
            )));
        }
    }
    Ok(level)
}

fn kind_of(heading: &str) -> Option<SectionKind> {
    let words: Vec<String> = heading
        .split(|c: char| !c.is_alphanumeric())
        .map(|word| word.to_lowercase().trim_end_matches('s').to_owned())
        .collect();
    let fits = |known: &&str| words.iter().any(|word| word == known.trim_end_matches('s'));
    WORDS.iter().find(|(_, known)| known.iter().any(&fits)).map(|(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_has_ten_sections_and_is_read_back_as_it_is() {
        let template = Template::default();
        assert_eq!(template.sections.len(), 10);
        assert_eq!(Template::parse(template.bare().as_bytes()), Ok(template.clone()));
        assert!(template.is_bare(&template.bare()));
        assert!(template.is_bare(""));
        assert!(!template.is_bare(&template.bare().replace("# Learnings", "# Learnings\n- x")));
        assert!(!template.is_bare("prose"));
    }

    #[test]
    fn a_persons_own_template_keeps_its_order_and_is_understood() {
        let text = "## Where we stand: current status\n_now_\n\n## Bugs\n### deeper\n## Recipes\n";
        let template = Template::parse(text.as_bytes()).unwrap();
        let kinds: Vec<_> = template.sections.iter().map(|section| section.kind).collect();
        let (state, errors) = (SectionKind::CurrentState, SectionKind::Errors);
        assert_eq!(kinds, [Some(state), Some(errors), None]);
        assert_eq!(template.level, 2);
        assert_eq!(template.sections[0].description, ["_now_"]);
        assert!(Template::parse(b"# Log\n# Log of work\n").unwrap().sections[1].kind.is_none());
    }

    #[test]
    fn a_broken_template_says_what_is_wrong() {
        let check = |bytes: &[u8], expect: &str| {
            let fault = Template::parse(bytes).unwrap_err().to_string();
            assert!(fault.contains(expect), "{fault}");
        };
        check(b"", "no heading");
        check(b"only prose\n```\n# code\n```\n", "no heading");
        check(b"# A\n#  \n", "line 2 is a heading without a name");
        check(b"# A\n# B\n#  a  \n", "line 3 repeats the heading");
        check(b"# A\xff\n", "offset 3 is not UTF-8");
        check(&b"# A\n".repeat(20_000), "80000 bytes; at most 65536 are allowed");
        let many: String = (0..60).map(|n| format!("# s{n}\n")).collect();
        check(many.as_bytes(), "60 sections; at most 50 are allowed");
    }
}
