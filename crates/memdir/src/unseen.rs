//! Invisible characters in memories: finds them, and removes them for models.
//!
//! `bethink-invisible-chars` has the table of characters and their legitimate uses. This module allows one more use:
//! directional marks that are closed on the same line, as in carefully written text that mixes two scripts.

use std::borrow::Cow;

pub use bethink_invisible_chars::Sighting;
use bethink_invisible_chars::{InvisibleKind, kind};

/// Finds the invisible characters that are not legitimate where they are, in order. A byte order mark at the beginning of a
/// file does not count.
pub fn find(text: &str) -> Vec<Sighting> {
    let mut found = bethink_invisible_chars::find(text);
    if found.iter().any(|one| one.kind == InvisibleKind::Bidi) {
        let lines: Vec<&str> = text.split('\n').collect();
        // The last line that was checked: a line may consist of these characters.
        let mut checked = (0, false);
        found.retain(|one| {
            if one.kind == InvisibleKind::Bidi && checked.0 != one.line {
                let closes = lines.get(one.line - 1).is_some_and(|line| directions_close(line));
                checked = (one.line, closes);
            }
            one.kind != InvisibleKind::Bidi || !checked.1
        });
    }
    found
}

/// Removes what [`find`] finds from text for a model.
pub fn strip(text: &str) -> Cow<'_, str> {
    let found = find(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for unseen in found {
        out.push_str(&text[from..unseen.at]);
        from = unseen.at + unseen.code.len_utf8();
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Whether a character is in the table of invisible characters, even if its use is legitimate.
pub fn suspect(c: char) -> bool {
    kind(c).is_some()
}

/// Whether all bidirectional embeddings and isolates in a line are closed on the same line, and are properly nested. A
/// line with an override fails, because overrides have no legitimate use.
fn directions_close(line: &str) -> bool {
    let mut open = Vec::new();
    for c in line.chars() {
        match c {
            '\u{202d}' | '\u{202e}' => return false,
            '\u{202a}' | '\u{202b}' => open.push('\u{202c}'),
            '\u{2066}'..='\u{2068}' => open.push('\u{2069}'),
            '\u{202c}' | '\u{2069}' if open.pop() != Some(c) => return false,
            _ => {}
        }
    }
    open.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kinds(text: &str) -> Vec<InvisibleKind> {
        find(text).into_iter().map(|unseen| unseen.kind).collect()
    }

    #[test]
    fn what_hides_is_found() {
        let check =
            |text: &str, expect: &[InvisibleKind]| assert_eq!(kinds(text), expect, "{text:?}");
        check("user\u{202e}txt.exe", &[InvisibleKind::Bidi]);
        check("\u{202e}abc\u{202c}", &[InvisibleKind::Bidi, InvisibleKind::Bidi]);
        check("a \u{2067}b", &[InvisibleKind::Bidi]);
        check("a \u{2067}b\u{202c}", &[InvisibleKind::Bidi, InvisibleKind::Bidi]);
        check("say\u{e0068}\u{e0069}", &[InvisibleKind::Tag, InvisibleKind::Tag]);
        check("\u{1f3f4}\u{e0068}\u{e007f}", &[InvisibleKind::Tag, InvisibleKind::Tag]);
        check("pass\u{200b}word", &[InvisibleKind::ZeroWidth]);
        check("pass\u{200d}word", &[InvisibleKind::ZeroWidth]);
        check("a\u{feff}b", &[InvisibleKind::ZeroWidth]);
        check(
            "a\u{fe00}\u{fe01}\u{fe02}",
            &[InvisibleKind::Selector, InvisibleKind::Selector, InvisibleKind::Selector],
        );
        check("\u{e0101}a", &[InvisibleKind::Selector]);
        check(
            "\x1b[2J\u{9b}\x7f",
            &[InvisibleKind::Control, InvisibleKind::Control, InvisibleKind::Control],
        );
        let second = &find("a\n\u{200b}")[0];
        assert_eq!(second.to_string(), "line 2: a zero-width space (U+200B)");
    }

    #[test]
    fn honest_writing_passes() {
        for text in [
            "plain\r\n\ttext, é, 中文, ✓",
            "می\u{200c}خواهم", // Persian
            "क्\u{200d}ष",      // Hindi
            "👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}", // families, keycaps
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}", // Scotland
            "שלום \u{2067}abc\u{2069} \u{200f}ו", // isolates that close, marks
            "\u{feff}the mark of an encoding",
            "葛\u{e0100}",
        ] {
            assert_eq!(find(text), [], "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_stripped_is_clean(text in "([a-z\n]|[\u{200b}-\u{200f}]|[\u{202a}-\u{202e}]|[\u{2060}-\u{2069}]|[\u{e0020}-\u{e007f}]|[\u{fe00}-\u{fe0f}]|[👩🏴é]){0,30}") {
            let mut once = strip(&text).into_owned();
            // A joiner may have had only a hidden neighbor.
            while !find(&once).is_empty() {
                let next = strip(&once).into_owned();
                prop_assert!(next.len() < once.len());
                once = next;
            }
            let visible = |text: &str| text.chars().filter(|c| !suspect(*c)).collect::<String>();
            prop_assert_eq!(visible(&once), visible(&text));
        }
    }
}
