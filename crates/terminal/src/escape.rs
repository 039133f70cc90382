//! Makes text harmless: characters that control the terminal, or hide or reorder text, become visible.
//!
//! Titles, messages, snippets and errors come from models, tools and files, and a terminal obeys what they contain: OSC 52
//! writes the clipboard, CSI rewrites lines, bidi overrides reorder words. Therefore all text is escaped, even our own,
//! and only the screen adds colour.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Which control characters are printed unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineMode {
    /// None.
    One,
    /// Line feeds and tabs.
    Many,
}

/// Shows control characters as symbols (`␛`) and other invisible characters as `\u{202e}`. Escaping twice changes
/// nothing.
pub(crate) fn visible(text: &str, lines: LineMode) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.chars().any(|c| replaced(c, lines)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            _ if !replaced(c, lines) => out.push(c),
            '\0'..='\x1f' => out.extend(char::from_u32(0x2400 + c as u32)),
            '\x7f' => out.push('\u{2421}'),
            _ => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
        }
    }
    Cow::Owned(out)
}

/// Escapes the same characters in JSON text, as `\u001b`. They only occur inside strings, so the value is unchanged.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    if !text.chars().any(unseen) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if !unseen(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    Cow::Owned(out)
}

fn replaced(c: char, lines: LineMode) -> bool {
    match c {
        '\n' | '\t' => lines == LineMode::One,
        '\0'..='\x1f' => true,
        _ => unseen(c),
    }
}

/// Returns whether a character is DEL or C1, has no width, or changes the text direction. The first sixteen variation
/// selectors do not count, because emoji need them.
fn unseen(c: char) -> bool {
    bethink_invisible_chars::kind(c).is_some() && !matches!(c, '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_escaped() {
        let check = |text: &str, expect: &str| assert_eq!(visible(text, LineMode::Many), expect);
        check("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"); // OSC 52: the clipboard
        check("\x1b[2J\x1b[31mred", "␛[2J␛[31mred"); // CSI
        check("\u{9b}2J \u{9d}0;t\u{9c}", "\\u{9b}2J \\u{9d}0;t\\u{9c}"); // C1, 8 bit
        check("user\u{202e}txt.exe", "user\\u{202e}txt.exe"); // bidi override
        check("a\u{2066}b\u{2069}", "a\\u{2066}b\\u{2069}"); // bidi isolates
        check("pass\u{200b}word\u{feff}", "pass\\u{200b}word\\u{feff}"); // zero width
        check("tag\u{e0041}", "tag\\u{e0041}"); // invisible letters
        check("over\rwrite\x08\x7f", "over␍write␈␡");
        check("a\n\tb", "a\n\tb");
        check("plain, é, 中文, ✓", "plain, é, 中文, ✓");
    }

    #[test]
    fn a_single_line_remains_one_line() {
        assert_eq!(visible("a\nb\tc", LineMode::One), "a␊b␉c");
    }

    #[test]
    fn escaping_twice_changes_nothing() {
        for lines in [LineMode::One, LineMode::Many] {
            let once = visible("\x1b[1m\u{202e}\n\u{85}", lines).into_owned();
            assert_eq!(visible(&once, lines), once);
        }
    }

    #[test]
    fn every_control_character_is_escaped() {
        for c in (0..=0x10ffff).filter_map(char::from_u32) {
            let text = c.to_string();
            let shown = visible(&text, LineMode::One);
            assert!(!shown.chars().any(char::is_control), "{:x}", c as u32);
        }
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({"a\u{202e}": "\u{9b}2J\x7f\u{e0041}\u{feff} \x1b é"});
        let text = serde_json::to_string(&value).unwrap();
        let safe = json(&text);
        assert!(!safe.chars().any(|c| unseen(c) || c.is_control()), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }
}
