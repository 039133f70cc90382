//! A model's edits of the notes, each of which is checked and applied to a copy in memory.
//!
//! The file is not touched. [`crate::model`] splits the edited copy into rows and merges them, so a wrong edit costs
//! at most a line of notes. The model sees why an edit was refused, and may try again.

mod blocks;

use bethink_transcript::text::plain;

use crate::budget::NotesBudget;
use crate::draft::NotesDraft;
use crate::merge::update;
use crate::template::Template;
use crate::written::WrittenNotes;

pub use bethink_transcript::edit_tool::{EditCall, EditShape};
pub use blocks::text_edits;

/// Maximum number of edits in one update. Ten sections need a few each; a model that needs more is in a loop.
pub const MAX_EDITS: usize = 200;
/// Maximum number of bytes that edits may add to the notes: four times the largest notes, at four bytes per token.
pub const MAX_ADDED_BYTES: usize = 192 * 1024;
/// A model sees notes of up to this many times their budget, and shortens them itself.
const SHOWN_TIMES_BUDGET: u64 = 4;
/// Maximum length of a quotation in an error, in characters.
const QUOTED_CHARS: usize = 120;

/// The copy of the notes that a model edits.
#[derive(Clone, Debug)]
pub struct NotesEdit {
    pub path: String,
    template: Template,
    /// The notes that the model was given.
    pub before: String,
    pub text: String,
    pub edits: usize,
}

impl NotesEdit {
    /// Prepares the notes for a model: every heading is present, lines end with `\n`, and text far over the budget is
    /// cut. `file` is the text on disk; `last` is what the daemon knows about it.
    pub fn open(
        path: &str,
        template: &Template,
        last: &WrittenNotes,
        file: Option<&str>,
        budget: &NotesBudget,
    ) -> Self {
        let shown = NotesBudget {
            section: budget.section.saturating_mul(SHOWN_TIMES_BUDGET),
            total: budget.total.saturating_mul(SHOWN_TIMES_BUDGET),
        };
        let written = NotesDraft::from_written(template, last);
        let whole = update(template, written, last, file, &shown).text;
        let before = shown.cut(&whole.replace("\r\n", "\n"), template, path);
        Self {
            path: path.to_owned(),
            template: template.clone(),
            text: before.clone(),
            before,
            edits: 0,
        }
    }

    /// Allows only the path that the model was given. Other spellings of it are denied: resolving them could let a
    /// model reach other files.
    pub fn permits(&self, path: &str) -> Result<(), String> {
        if path == self.path {
            return Ok(());
        }
        let given: String = path.chars().take(QUOTED_CHARS).collect();
        Err(format!("only the notes at {:?} may be edited, not {given:?}", self.path))
    }

    /// Replaces `old`, which must occur exactly once, with `new`. If `replace_all` is set, replaces every occurrence.
    /// Both the result and the error are messages to the model.
    pub fn apply(
        &mut self,
        path: &str,
        old: &str,
        new: &str,
        replace_all: bool,
    ) -> Result<String, String> {
        self.permits(path)?;
        if self.edits >= MAX_EDITS {
            return Err(format!(
                "the limit of {MAX_EDITS} edits per update is reached; no more are accepted"
            ));
        }
        let (old, new) = (old.replace("\r\n", "\n"), plain(new));
        let refused = |why: &str| Err(why.to_owned());
        if old.is_empty() {
            return refused(
                "the old text is empty; use text that is in the notes, such as the line in italics below a heading",
            );
        }
        if old == new {
            return refused("the old text and the new text are the same");
        }
        let count = self.text.matches(&old).count();
        if count == 0 {
            return refused(
                "the old text is not in the notes; it must match exactly, including spaces and line breaks",
            );
        }
        if count > 1 && !replace_all {
            return Err(format!(
                "the old text occurs {count} times in the notes; include more of the text around it"
            ));
        }
        // Checked before the text is built: replacing a short text that occurs often could need gigabytes.
        let grown = new.len().saturating_sub(old.len()).saturating_mul(count);
        let actual = self.text.len().saturating_add(grown);
        let limit = self.before.len() + MAX_ADDED_BYTES;
        if actual > limit {
            return Err(format!(
                "the notes would be {actual} bytes; at most {limit} are allowed, so write less"
            ));
        }
        let edited = self.text.replace(&old, &new);
        self.check_frame(&edited)?;
        self.text = edited;
        self.edits += 1;
        let places = if count == 1 { "1 place".to_owned() } else { format!("{count} places") };
        Ok(format!("The notes were changed in {places}."))
    }

    /// Checks that headings and the template's own lines are unchanged.
    fn check_frame(&self, edited: &str) -> Result<(), String> {
        let (was, is) = (self.frame(&self.before), self.frame(edited));
        let quoted = |line: &String| line.chars().take(QUOTED_CHARS).collect::<String>();
        let differs = was.iter().zip(&is).position(|(was, is)| was != is);
        let at = differs.unwrap_or(was.len().min(is.len()));
        match (was.get(at), is.get(at)) {
            (None, None) => Ok(()),
            (was_there, Some(added)) if was_there.is_none() || is.len() > was.len() => {
                let line = quoted(added);
                Err(format!(
                    "a heading cannot be added; write {line:?} as a line of an existing section"
                ))
            }
            (changed, _) => Err(format!(
                "{:?} must stay unchanged and in place: headings and the lines in italics cannot be changed",
                changed.map(quoted).unwrap_or_default()
            )),
        }
    }

    fn frame(&self, text: &str) -> Vec<String> {
        let mut frame = Vec::new();
        for part in self.template.read(text).parts {
            frame.push(part.raw);
            let own = part.lines.into_iter().filter(|line| self.template.is_description(line));
            frame.extend(own.map(|line| line.trim().to_owned()));
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/home/ada/.local/share/bethink/notes/s.md";
    const TITLE: &str = "_What the session is about, in 5 to 10 words._";

    fn open(file: Option<&str>) -> NotesEdit {
        let (template, budget) = (Template::default(), NotesBudget::default());
        NotesEdit::open(PATH, &template, &WrittenNotes::default(), file, &budget)
    }

    #[test]
    fn edits_follow_each_other_and_report_their_effect() {
        let mut notes = open(None);
        assert_eq!(notes.before, Template::default().bare());
        let done = notes.apply(PATH, TITLE, &format!("{TITLE}\nThe tide\r\n- x \u{1b}[1mb"), false);
        assert_eq!(done.unwrap(), "The notes were changed in 1 place.");
        notes.apply(PATH, "- x b", "- x\n- x", false).unwrap();
        assert_eq!(
            notes.apply(PATH, "- x", "- y", true).unwrap(),
            "The notes were changed in 2 places."
        );
        assert!(notes.text.contains(&format!("{TITLE}\nThe tide\n- y\n- y\n\n# Current State")));
        assert_eq!(notes.edits, 3);
    }

    #[test]
    fn a_wrong_edit_changes_nothing_and_says_why() {
        let mut notes = open(Some("# Current State\n- one\n- one\n# Own\n- two\n"));
        let before = notes.text.clone();
        let mut check = |old: &str, new: &str, expect: &str| {
            let error = notes.apply(PATH, old, new, false).unwrap_err();
            assert!(error.contains(expect), "{error}");
            assert_eq!(notes.text, before);
        };
        check("", "x", "old text is empty");
        check("- one", "- one", "are the same");
        check("- three", "x", "is not in the notes");
        check("- one", "x", "2 times");
        check("- two", &"x".repeat(300_000), "bytes; ");
        check("# Current State", "# State", "\"# Current State\" must stay");
        check("# Learnings\n", "", "\"# Learnings\" must stay");
        check("# Own\n", "", "\"# Own\" must stay");
        check("# Learnings", "# Learned\n# Learnings", "write \"# Learned\" as a line");
        check("- two", "- two\n# More", "write \"# More\" as a line");
        check(TITLE, "The tide", "\"_What the session is about, in 5 to 10 words._\" must stay");
        check("# Own\n- two", "```\n# Own\n- two\n```", "\"# Own\" must stay");
        notes.apply(PATH, "- two", "- two\n```sh\n# a comment\n```\n## deeper", false).unwrap();
    }

    #[test]
    fn only_the_notes_by_their_own_name() {
        let mut notes = open(None);
        assert_eq!(notes.permits(PATH), Ok(()));
        for path in [
            "",
            "s.md",
            "~/.local/share/bethink/notes/s.md",
            "/home/ada/.local/share/bethink/notes/../notes/s.md",
            "/home/ada/.local/share/bethink/notes/./s.md",
            "/home/ada/.local/share/bethink/notes//s.md",
            "/home/ada/.local/share/bethink/notes/s.md ",
            "/home/ada/.local/share/bethink/notes/s.md\0",
            "/home/ada/.local/share/bethink/notes/S.md",
            "file:///home/ada/.local/share/bethink/notes/s.md",
            "/home/ada/.local/share/bethink/notes/%73.md",
            "/etc/passwd",
        ] {
            let reason = notes.permits(path).unwrap_err();
            assert!(reason.contains(PATH), "{reason}");
            let error = notes.apply(path, TITLE, "x", false).unwrap_err();
            assert_eq!(error, reason);
        }
        assert_eq!(notes.text, notes.before);
    }

    #[test]
    fn an_endless_run_of_edits_ends_and_growth_is_bounded() {
        let mut notes = open(Some("# Current State\na\n"));
        notes.apply(PATH, "\na\n", &format!("\n{}\n", "a".repeat(60_000)), false).unwrap();
        let long = "b".repeat(100);
        let error = notes.apply(PATH, "a", &long, true).unwrap_err();
        assert!(error.contains("bytes; "), "{error}");
        let mut notes = open(Some("# Current State\n- 0\n"));
        for n in 0..MAX_EDITS {
            notes.apply(PATH, &format!("- {n}\n"), &format!("- {}\n", n + 1), false).unwrap();
        }
        let error = notes.apply(PATH, "- 200\n", "- 201\n", false).unwrap_err();
        assert!(error.starts_with("the limit of 200 edits"), "{error}");
    }

    #[test]
    fn a_file_of_a_person_is_given_with_every_heading_and_within_bounds() {
        let notes = open(Some("prose\r\n# Worklog\r\n- by hand\r\n"));
        assert!(notes.before.starts_with("prose\n\n# Session Title\n"), "{}", notes.before);
        assert!(notes.before.contains("# Worklog\n- by hand\n"), "{}", notes.before);
        assert!(!notes.before.contains('\r'));
        let long = open(Some(&format!("# Worklog\n{}", "by hand\n".repeat(200_000))));
        assert!(long.before.len() < 400_000, "{}", long.before.len());
    }
}
