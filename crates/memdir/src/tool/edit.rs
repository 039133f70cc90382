//! Edits text exactly at the given place, or not at all.

use super::NUMBER_WIDTH;
use super::error::{ToolError, quoted};
use crate::prompt::guarded;

/// Number of lines that the answer shows before and after a replacement.
const AROUND: usize = 2;
/// Maximum number of lines that an error lists.
const NAMED_LINES: usize = 20;

/// The text after an edit, and the answer for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditOutcome {
    pub text: String,
    pub answer: String,
}

/// Replaces `old` with `new` if `old` occurs once.
pub fn replace(path: &str, text: &str, old: &str, new: &str) -> Result<EditOutcome, ToolError> {
    if old.is_empty() {
        return Err(ToolError::NothingToReplace);
    }
    let Some(at) = text.find(old) else { return Err(not_verbatim(path, text, old)) };
    if text[at + old.len()..].contains(old) {
        return Err(ToolError::Several { old: quoted(old), lines: lines_of(text, old) });
    }
    let changed = format!("{}{new}{}", &text[..at], &text[at + old.len()..]);
    let line = text[..at].matches('\n').count();
    let answer = format!(
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{}",
        snippet(&changed, line)
    );
    Ok(EditOutcome { text: changed, answer })
}

/// Inserts `new` after line `after`; 0 is the beginning.
pub fn insert(path: &str, text: &str, after: i64, new: &str) -> Result<EditOutcome, ToolError> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    let at = usize::try_from(after).ok().filter(|at| *at <= lines.len());
    let Some(at) = at else { return Err(ToolError::NoSuchLine { line: after, last: lines.len() }) };
    lines.insert(at, new.trim_end_matches('\n'));
    let mut changed = lines.join("\n");
    if !changed.ends_with('\n') {
        changed.push('\n');
    }
    Ok(EditOutcome { text: changed, answer: format!("The file {path} has been edited.") })
}

/// Returns a line with its number, as the model sees it.
pub(super) fn numbered(number: usize, line: &str) -> String {
    format!("{number:>NUMBER_WIDTH$}\t{line}")
}

fn snippet(text: &str, line: usize) -> String {
    let shown = guarded(text);
    let around = line.saturating_sub(AROUND)..line + AROUND + 1;
    let lines = shown.split('\n').enumerate().filter(|(at, _)| around.contains(at));
    lines.map(|(at, line)| numbered(at + 1, line)).collect::<Vec<_>>().join("\n")
}

/// Returns the error for a string that was not found. The error says if a view hides or escapes some of the characters.
fn not_verbatim(path: &str, text: &str, old: &str) -> ToolError {
    let shown = guarded(text);
    let why = match shown.contains(old) && shown != text {
        true => {
            " The file has characters there that `view` hides or shows differently; replace the text \
             around them, or create the file again under another name."
        }
        false => "",
    };
    ToolError::NotVerbatim { path: quoted(path), old: quoted(old), why }
}

/// Returns the line number of each occurrence of `old`, including overlapping occurrences.
fn lines_of(text: &str, old: &str) -> String {
    let (mut lines, mut from) = (Vec::new(), 0);
    while let Some(found) = text[from..].find(old) {
        let at = from + found;
        if lines.len() == NAMED_LINES {
            lines.push("…".to_owned());
            break;
        }
        lines.push((text[..at].matches('\n').count() + 1).to_string());
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
    }
    lines.join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_replaced_where_it_stands_once() {
        let done = replace("/memories/a.md", "one\ntwo\nthree\nfour\n", "two", "2").unwrap();
        assert_eq!(done.text, "one\n2\nthree\nfour\n");
        assert!(done.answer.ends_with("\n     1\tone\n     2\t2\n     3\tthree\n     4\tfour"));
        let refused = |old| replace("/memories/a.md", "a a\nb a", old, "").unwrap_err().to_string();
        assert_eq!(
            refused("x"),
            "No replacement was performed, old_str `x` did not appear verbatim in /memories/a.md."
        );
        assert_eq!(
            refused("a"),
            "No replacement was performed. Multiple occurrences of old_str `a` in lines: 1, 1, 2. \
             Please ensure it is unique"
        );
        assert!(refused("").contains("old_str is empty"));
    }

    #[test]
    fn a_line_is_inserted_after_its_number() {
        let check = |text: &str, after, new: &str, expect: &str| {
            assert_eq!(
                insert("/memories/a.md", text, after, new).unwrap().text,
                expect,
                "{text:?}"
            );
        };
        check("a\nb\n", 0, "x", "x\na\nb\n");
        check("a\nb\n", 2, "x\n", "a\nb\nx\n");
        check("a\nb", 1, "x", "a\nx\nb\n");
        check("a\r\nb\r\n", 1, "x", "a\r\nx\nb\r\n");
        check("", 0, "x", "x\n");
        for line in [-1, 3, i64::MAX, i64::MIN] {
            let refused = insert("/memories/a.md", "a\nb\n", line, "x").unwrap_err();
            assert_eq!(refused, ToolError::NoSuchLine { line, last: 2 });
        }
    }

    #[test]
    fn what_is_not_shown_is_named_as_the_reason() {
        let told = replace("/memories/a.md", "pass\u{200b}word", "password", "x").unwrap_err();
        assert!(told.to_string().contains("`view` hides or shows differently"), "{told}");
        let told = replace("/memories/a.md", "a </memory>", "a &lt;/memory>", "x").unwrap_err();
        assert!(told.to_string().contains("`view` hides or shows differently"), "{told}");
    }

    proptest! {
        #[test]
        fn an_edit_touches_nothing_else(before in "[a-zé\n]{0,40}", after in "[a-zé\n]{0,40}", new in "\\PC{0,20}") {
            let text = format!("{before}#{after}");
            let done = replace("/memories/a.md", &text, "#", &new).unwrap();
            prop_assert_eq!(done.text, format!("{before}{new}{after}"));
        }
    }
}
