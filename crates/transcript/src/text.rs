//! Helpers for text from elsewhere: removes terminal escapes and hidden characters, shortens, and finds
//! Markdown structure.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';
/// `ESC [` and `ESC ]` as single characters.
const CSI: char = '\u{9b}';
const OSC: char = '\u{9d}';
const BELL: char = '\u{7}';

/// Returns the text without terminal escapes, control characters other than `
/// ` and `\t`, and characters that hide or reorder text. Lines end with `
/// `. Zero-width joiners stay, because ordinary words need them.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unwanted) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            ESCAPE => rest = after_escape(rest),
            CSI => rest = after_parameters(rest),
            OSC => rest = after_string(rest),
            '\r' => out.push_str(if rest.starts_with('\n') { "" } else { "\n" }),
            c if !is_unwanted(c) => out.push(c),
            _ => {}
        }
    }
    Cow::Owned(out)
}

fn is_unwanted(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || hides_or_reorders(c)
}

/// Whether this is a zero-width space, a direction mark, or an invisible tag character.
fn hides_or_reorders(c: char) -> bool {
    matches!(c, '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2069}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}')
}

/// Skips an escape sequence; `rest` follows the escape character.
fn after_escape(rest: &str) -> &str {
    let Some(kind) = rest.chars().next() else { return rest };
    let inner = &rest[kind.len_utf8()..];
    match kind {
        '[' => after_parameters(inner),
        // Commands with a text: for the window title, the clipboard, a device.
        ']' | 'P' | 'X' | '^' | '_' => after_string(inner),
        // Intermediate characters, then a final one.
        ' '..='/' => {
            let inner = inner.trim_start_matches(|c| (' '..='/').contains(&c));
            inner.strip_prefix(|c: char| ('0'..='~').contains(&c)).unwrap_or(inner)
        }
        '0'..='~' => inner,
        _ => rest,
    }
}

fn after_parameters(rest: &str) -> &str {
    let rest = rest.trim_start_matches(|c: char| (' '..='?').contains(&c));
    rest.strip_prefix(|c: char| ('@'..='~').contains(&c)).unwrap_or(rest)
}

/// Skips the text of a command. Without a terminator, the text ends with the line.
fn after_string(rest: &str) -> &str {
    let ends = |c: char| matches!(c, BELL | '\u{9c}' | '\n' | ESCAPE);
    let Some(end) = rest.find(ends) else { return "" };
    let rest = &rest[end..];
    let without = |mark: &str| rest.strip_prefix(mark);
    without("\u{1b}\\").or(without("\u{7}")).or(without("\u{9c}")).unwrap_or(rest)
}

/// Returns the first `bytes` bytes of `text`, cut at a line ending unless that would drop more than half of them.
pub fn beginning(text: &str, bytes: usize) -> &str {
    let head = &text[..text.floor_char_boundary(bytes)];
    match head.rfind('\n') {
        Some(line_end) if head.len() < text.len() && line_end * 2 >= bytes => &head[..line_end],
        _ => head,
    }
}

/// Returns the first `bytes` bytes of a line, with an ellipsis if something is missing.
pub fn shorten(line: &str, bytes: usize) -> String {
    let head = &line[..line.floor_char_boundary(bytes)];
    if head.len() == line.len() { line.to_owned() } else { format!("{}…", head.trim_end()) }
}

/// Returns the first `chars` characters of a line, up to the end of a word, with an ellipsis if something is missing.
pub fn shorten_at_word(line: &str, chars: usize) -> String {
    let Some((end, _)) = line.char_indices().nth(chars) else { return line.to_owned() };
    let head = &line[..end];
    format!("{} …", head.rsplit_once(' ').map_or(head, |(head, _)| head).trim_end())
}

/// Replaces each run of white space with a single space.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the level of a Markdown heading, if the line is one.
pub fn heading_level(line: &str) -> Option<usize> {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line.get(marks..)?;
    let is_one = (1..=6).contains(&marks) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    is_one.then_some(marks)
}

/// Returns the fence that opens or closes a code block, if the line is one.
pub fn fence(line: &str) -> Option<&'static str> {
    let start = line.trim_start();
    ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark))
}

/// Returns for each line whether it is in a closed code block.
pub fn closed_fences(lines: &[&str]) -> Vec<bool> {
    let mut fenced = vec![false; lines.len()];
    let mut open: Option<(usize, &str)> = None;
    for (at, line) in lines.iter().enumerate() {
        match (open, fence(line)) {
            (None, Some(mark)) => open = Some((at, mark)),
            (Some((from, opening)), Some(mark)) if opening == mark => {
                fenced[from..=at].fill(true);
                open = None;
            }
            _ => {}
        }
    }
    fenced
}

/// Returns the fence of a code block that is left open at the end of a text.
pub fn open_fence(text: &str) -> Option<&'static str> {
    text.lines().filter_map(fence).fold(None, |open, mark| match open {
        None => Some(mark),
        Some(opening) if opening == mark => None,
        open => open,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_a_terminal_obeys() {
        let check = |text: &str, expect: &str| assert_eq!(plain(text), expect, "{text:?}");
        check("plain\ttext\n", "plain\ttext\n");
        check("a\u{1b}[31;1mred\u{1b}[0m b", "ared b");
        check("a\u{1b}]52;c;c2VjcmV0\u{7}b", "ab");
        check("a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b", "alinkb");
        check("a\u{1b}]0;title without an end\nb", "a\nb");
        check("a\u{1b}P1$r\u{9c}b\u{1b}(Bc\u{1b}7d\u{1b}", "abcd");
        check("a\u{9b}2Jb\u{9d}0;t\u{7}c\u{85}d", "abcd");
        check("10%\r20%\r\ndone\u{0}\u{7f}\u{8}", "10%\n20%\ndone");
        check("a\u{202e}b\u{200b}c\u{2066}d\u{e0041}", "abcd");
        check("می\u{200c}خواهم 👩\u{200d}💻", "می\u{200c}خواهم 👩\u{200d}💻");
    }

    #[test]
    fn a_fence_that_is_left_open_is_known_by_its_mark() {
        let check =
            |text: &str, expect: Option<&str>| assert_eq!(open_fence(text), expect, "{text:?}");
        check("a\n", None);
        check("```sh\nx\n```\n", None);
        check("```sh\nx\n~~~\n", Some("```"));
        check("~~~\n```\n~~~\n  ```rust\n", Some("```"));
    }

    #[test]
    fn a_beginning_ends_at_a_line_unless_that_loses_half() {
        assert_eq!(beginning("short", 10), "short");
        assert_eq!(beginning("one\ntwo\nthree", 9), "one\ntwo");
        assert_eq!(beginning("a\nbbbbbbbbbbbbbb", 10), "a\nbbbbbbbb");
        assert_eq!(beginning("ééééé", 5), "éé");
    }

    #[test]
    fn a_line_is_shortened_between_letters_or_words() {
        assert_eq!([shorten("añb", 4), shorten("añb", 2)], ["añb", "a…"]);
        assert_eq!(
            [shorten_at_word("one two", 7), shorten_at_word("one two", 5)],
            ["one two", "one …"]
        );
    }

    #[test]
    fn marks_make_a_heading_only_before_a_space() {
        let levels = ["# a", "###### a", "#", "#a", "####### a", " # a", ""].map(heading_level);
        assert_eq!(levels, [Some(1), Some(6), Some(1), None, None, None, None]);
    }
}
