//! Makes the text of a file safe to put between tags.

use std::borrow::Cow;

use crate::unseen;

/// The tags that we put around texts. A prefix also covers longer tags, such as `memory-index`.
const TAGS: [&str; 3] = ["system-reminder", "memory", "instructions"];

/// Removes invisible characters and escapes our tags: `</memory>` becomes `&lt;/memory>`.
pub fn guarded(text: &str) -> Cow<'_, str> {
    match unseen::strip(text) {
        Cow::Borrowed(text) => defused(text),
        Cow::Owned(text) => Cow::Owned(defused(&text).into_owned()),
    }
}

/// Like [`guarded`], but on one line.
pub fn guarded_line(text: &str) -> String {
    guarded(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn defused(text: &str) -> Cow<'_, str> {
    let opens = |c: char| matches!(c, '<' | '＜' | '﹤' | '‹');
    if !text.contains(opens) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut from = 0;
    for (at, bracket) in text.match_indices(opens) {
        let rest = &text[at + bracket.len()..];
        if is_ours(rest) {
            out.push_str(&text[from..at]);
            out.push_str("&lt;");
            from = at + bracket.len();
        }
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Whether the text begins with the name of one of our tags, in upper or lower case, after any slashes and spaces.
fn is_ours(rest: &str) -> bool {
    let name =
        rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '/' | '／' | '\\'));
    let reads = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    TAGS.iter().any(|tag| {
        name.len() >= tag.len()
            && name.bytes().map(reads).zip(tag.bytes()).all(|(one, other)| one == other)
    })
}
