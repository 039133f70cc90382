//! Long texts without their middle.

use std::borrow::Cow;

/// Returns the text, or only its beginning and end if it is longer than `bytes`.
pub fn without_middle(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let head = bethink_transcript::text::beginning(text, bytes * 2 / 3);
    let from = text.ceil_char_boundary(text.len() - bytes / 3);
    let left_out = from - head.len();
    Cow::Owned(format!("{head}\n… ({left_out} bytes left out) …\n{}", &text[from..]))
}

/// Whether a line says how much [`without_middle`] left out.
pub(crate) fn is_cut(line: &str) -> bool {
    line.starts_with("… (") && line.ends_with(" bytes left out) …")
}
