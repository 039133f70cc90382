//! Splits text into passages: sentences, list items, table rows, lines of code.

use std::borrow::Cow;

use crate::middle::is_cut;

/// A part of a text that can be quoted by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage<'a> {
    pub text: &'a str,
    /// Whether the passage is a line of fenced code.
    pub is_code: bool,
    /// Whether the passage only names what follows: a heading, or a bold line.
    pub is_heading: bool,
}

/// Splits a text into passages, without list markers and empty lines.
pub fn passages(text: &str) -> Vec<Passage<'_>> {
    let mut found = Vec::new();
    let mut is_code = false;
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if is_fence(line) {
            is_code = !is_code;
            continue;
        }
        if is_cut(line) {
            // The cut may have taken a fence; the rest shows whether it begins within code.
            is_code = lines.clone().filter(|line| is_fence(line)).count() % 2 == 1;
            continue;
        }
        let is_heading = !is_code && (line.starts_with('#') || line.ends_with("**"));
        let line = if is_code { line } else { unmarked(line) };
        let is_heading = is_heading && !line.ends_with(['.', '!', '?']);
        if !line.chars().any(char::is_alphanumeric) {
            // The row above is the header of a table: it only names the columns.
            if line.starts_with("|-") || line.starts_with("| -") || line.starts_with("|:") {
                found.pop_if(|before: &mut Passage<'_>| before.text.starts_with('|'));
            }
            continue;
        }
        if is_code || line.starts_with('|') {
            found.push(Passage { text: line, is_code, is_heading });
        } else {
            found.extend(sentences(line).map(|text| Passage { text, is_code, is_heading }));
        }
    }
    found
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

/// Returns a passage as plain text: without bold markers, and with a table row as `name: second cell; third cell`.
pub fn plain(text: &str) -> Cow<'_, str> {
    let row = text.strip_prefix('|');
    if row.is_none() && !text.contains("**") {
        return Cow::Borrowed(text);
    }
    let text = text.replace("**", "");
    if row.is_none() {
        return Cow::Owned(text);
    }
    let mut cells = text.split(" | ").map(|cell| cell.trim_matches(['|', ' ']));
    let first = cells.next().unwrap_or_default();
    let others: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
    let joint = if others.is_empty() { "" } else { ": " };
    Cow::Owned(format!("{first}{joint}{}", others.join("; ")))
}

/// Maximum size of a label before a sentence, such as `A.`, in bytes.
const LABEL_BYTES: usize = 3;

/// Splits a line after each full stop, question mark or exclamation mark that is followed by a space.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let ends = rest.match_indices(['.', '?', '!']).map(|(at, _)| at + 1);
        let mut ends = ends.filter(|end| {
            let sentence = &rest[..*end];
            rest[*end..].starts_with(' ')
                && sentence.len() > LABEL_BYTES
                && !is_abbreviated(sentence)
        });
        let end = ends.next().unwrap_or(rest.len());
        let (sentence, after) = rest.split_at(end);
        rest = after;
        Some(sentence.trim())
    })
}

fn is_abbreviated(text: &str) -> bool {
    const SHORT: [&str; 6] = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx."];
    SHORT.iter().any(|short| text.ends_with(short))
}

/// Removes the marker of a list item, a heading or a quotation, and bold markers around the whole line.
fn unmarked(line: &str) -> &str {
    let line = line.trim_start_matches(['#', '>', ' ']);
    let line =
        line.strip_prefix(['-', '*', '+', '•']).map_or(line, |rest| match rest.starts_with(' ') {
            true => rest.trim_start(),
            false => line,
        });
    let number = line.bytes().take_while(u8::is_ascii_digit).count();
    let line = match line[number..].strip_prefix(['.', ')']) {
        Some(rest) if (1..=2).contains(&number) && rest.starts_with(' ') => rest.trim_start(),
        _ => line,
    };
    let bold = line.strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
    bold.filter(|rest| !rest.contains("**")).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::middle::without_middle;

    fn check(text: &str, expect: &[&str]) {
        let found: Vec<&str> = passages(text).iter().map(|passage| passage.text).collect();
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn a_text_is_split_at_sentences_and_list_items() {
        check("It failed. Why? See e.g. the log.", &["It failed.", "Why?", "See e.g. the log."]);
        check(
            "## Cause\n\n- **the lease**\n- `store.rs` v1.2\n---",
            &["Cause", "the lease", "`store.rs` v1.2"],
        );
        check("| a | b |\n|---|---|\n| c | d. e |", &["| c | d. e |"]);
        check("1. **One**\n12) Two. 3 more.\nA. Three.", &["One", "Two.", "3 more.", "A. Three."]);
        check("", &[]);
    }

    #[test]
    fn text_after_a_cut_is_code_only_if_the_cut_is_within_code() {
        let check = |text: &str, expect: &[bool]| {
            let text = format!("It reads:\n```\nopen();\n{}", without_middle(text, 30));
            let found: Vec<bool> = passages(&text).iter().map(|passage| passage.is_code).collect();
            assert_eq!(found, expect, "{text}");
        };
        let long = "x".repeat(90);
        check(&format!("close();\n{long}\nAll done"), &[false, true, true, true, false, false]);
        check(&format!("close();\n{long}\nnew();\n```"), &[false, true, true, true, true]);
    }

    #[test]
    fn a_passage_is_shown_without_marks() {
        let check = |text, expect| assert_eq!(plain(text), expect, "{text}");
        check("| **A. Now** | cheap |  | but late |", "A. Now: cheap; but late");
        check("| one |", "one");
        check("**Cause**: the lease", "Cause: the lease");
        check("`a | b`", "`a | b`");
    }

    #[test]
    fn code_stays_in_lines() {
        let found = passages("Run:\n```sh\ncargo test. All.\n```\nDone.");
        let code: Vec<bool> = found.iter().map(|passage| passage.is_code).collect();
        assert_eq!(code, [false, true, false]);
        assert_eq!(found[1].text, "cargo test. All.");
    }
}
