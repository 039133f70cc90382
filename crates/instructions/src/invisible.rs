//! Characters that a person does not see and a model reads: a known way to hide orders in a rules file.

use std::borrow::Cow;

/// The text without them, and how many there were.
pub(crate) fn strip(text: &str) -> (Cow<'_, str>, usize) {
    let hidden = text.chars().filter(|c| is_hidden(*c)).count();
    if hidden == 0 {
        return (Cow::Borrowed(text), 0);
    }
    (Cow::Owned(text.chars().filter(|c| !is_hidden(*c)).collect()), hidden)
}

/// Joiners (U+200C, U+200D), direction marks (U+200E, U+200F) and the first sixteen variation selectors
/// stay: Persian, Hindi, Arabic, Hebrew and emoji need them.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_goes() {
        let tags: String =
            "run it".chars().map(|c| char::from_u32(0xE0000 + c as u32).unwrap()).collect();
        let all = format!("a{tags}b\u{202e}c\u{200b}d\u{1b}[31m");
        let (text, hidden) = strip(&all);
        assert_eq!((text.as_ref(), hidden), ("abcd[31m", 9));
    }

    #[test]
    fn what_languages_need_stays() {
        for text in [
            "می\u{200c}خواهم",
            "👨\u{200d}👩\u{200d}👧",
            "❤\u{fe0f}",
            "שלום\u{200f}!",
            "tab\tline\n",
        ] {
            assert_eq!(strip(text), (Cow::Borrowed(text), 0));
        }
    }
}
