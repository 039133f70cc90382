//! The lines that the session's edits wrote into a file and that no later edit replaced: the file's current content, as
//! far as the session wrote it.

use std::collections::HashSet;

use bethink_transcript::Seq;
use bethink_transcript::text::beginning;

use crate::symbols::defined_by;

/// A text replacement that an edit made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextChange {
    /// `None` if the new text replaces the whole file.
    pub(crate) old: Option<String>,
    pub(crate) new: String,
}

/// A line that an edit wrote, without its indentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenLine {
    pub seq: Seq,
    pub text: Box<str>,
}

impl WrittenLine {
    /// Returns how much the line says about the file at `path`, from 0 to 1: definitions and comments say more than the
    /// code between them.
    pub fn worth(&self, path: &str) -> f32 {
        const IMPORTS: [&str; 6] = ["import ", "use ", "from ", "#include", "package ", "require"];
        const COMMENTS: [&str; 5] = ["//", "#", "--", "*", "\"\"\""];
        let begins = |with: &[&str]| with.iter().any(|opening| self.text.starts_with(opening));
        if begins(&IMPORTS) {
            0.08
        } else if defined_by(&self.text).is_some() {
            0.9
        } else if begins(&COMMENTS) {
            0.6
        } else if path.ends_with(".md") {
            0.5
        } else {
            0.45
        }
    }
}

/// The written lines of a file, in the order in which they appear in the file, as far as that order is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct WrittenLines(Vec<WrittenLine>);

/// Maximum number of lines kept per file; the oldest are dropped.
const LINES: usize = 400;
/// Maximum size of a line, in bytes.
const LINE_BYTES: usize = 320;

impl WrittenLines {
    pub(crate) fn lines(&self) -> &[WrittenLine] {
        &self.0
    }

    /// Records that the file now has this content.
    pub(crate) fn write(&mut self, content: &str, seq: Seq) {
        let known = std::mem::take(&mut self.0);
        for line in lines(content).take(LINES) {
            // A line that was there before keeps the message that wrote it.
            let seq = known.iter().find(|k| &*k.text == line).map_or(seq, |known| known.seq);
            self.0.push(WrittenLine { seq, text: line.into() });
        }
    }

    /// Records that `old` was replaced with `new`.
    pub(crate) fn replace(&mut self, old: &str, new: &str, seq: Seq) {
        let old: HashSet<&str> = lines(old).collect();
        let kept: HashSet<&str> = lines(new).filter(|line| old.contains(line)).collect();
        let place = self.0.iter().position(|line| old.contains(&*line.text));
        self.0.retain(|line| !old.contains(&*line.text) || kept.contains(&*line.text));
        let mut place = place.unwrap_or(self.0.len()).min(self.0.len());
        let most = place + LINES;
        for line in lines(new) {
            if place == most {
                // More lines would not be kept.
                break;
            }
            if kept.contains(line) {
                // Context: lines that the edit kept.
                if let Some(at) = self.0.iter().position(|known| &*known.text == line) {
                    place = at + 1;
                }
                continue;
            }
            self.0.insert(place, WrittenLine { seq, text: line.into() });
            place += 1;
        }
        self.forget_oldest();
    }

    fn forget_oldest(&mut self) {
        if self.0.len() > LINES {
            let mut ages: Vec<Seq> = self.0.iter().map(|line| line.seq).collect();
            ages.sort_unstable();
            let newest = ages[self.0.len() - LINES];
            self.0.retain(|line| line.seq >= newest);
            self.0.truncate(LINES);
        }
    }
}

/// Returns the lines of a text that have at least two letters or digits, without indentation.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let says = |line: &&str| line.chars().filter(|c| c.is_alphanumeric()).count() > 1;
    text.lines().map(|line| beginning(line.trim(), LINE_BYTES)).filter(says)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(lines: &WrittenLines) -> Vec<&str> {
        lines.lines().iter().map(|line| &*line.text).collect()
    }

    #[test]
    fn a_later_edit_replaces_what_an_earlier_one_wrote() {
        let mut file = WrittenLines::default();
        file.write("fn open() {\n    read(1);\n}\nfn close() {}\n", Seq(1));
        assert_eq!(says(&file), ["fn open() {", "read(1);", "fn close() {}"]);
        file.replace("    read(1);\n}", "    read(2);\n    check();\n}", Seq(2));
        assert_eq!(says(&file), ["fn open() {", "read(2);", "check();", "fn close() {}"]);
        assert_eq!(file.lines()[0].seq, Seq(1));
        file.replace("fn close() {}", "", Seq(3));
        assert_eq!(says(&file), ["fn open() {", "read(2);", "check();"]);
    }

    #[test]
    fn context_in_an_edit_is_not_written_by_it() {
        let mut file = WrittenLines::default();
        file.replace("fn open() {\n  old();", "fn open() {\n  fresh();", Seq(4));
        assert_eq!(says(&file), ["fresh();"]);
    }

    #[test]
    fn a_file_written_again_keeps_the_age_of_its_lines() {
        let mut file = WrittenLines::default();
        file.write("let kept = 1;\nlet gone = 2;", Seq(1));
        file.write("let kept = 1;\nlet fresh = 3;", Seq(9));
        let ages: Vec<u64> = file.lines().iter().map(|line| line.seq.0).collect();
        assert_eq!((says(&file), ages), (vec!["let kept = 1;", "let fresh = 3;"], vec![1, 9]));
    }

    #[test]
    fn a_file_has_a_limit_of_lines() {
        let mut file = WrittenLines::default();
        for n in 0..900 {
            file.replace("", &format!("let line_{n} = {n};"), Seq(n));
        }
        assert!(file.lines().len() <= LINES);
        assert_eq!(&*file.lines().last().unwrap().text, "let line_899 = 899;");
    }
}
