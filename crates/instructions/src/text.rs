//! Converts a file's bytes to the text for the model.

use bethink_memdir::unseen;

use crate::comments;
use crate::front::{self, Front};
use crate::limits::{MANY_CHARS, MANY_LINES};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstructionText {
    /// The text without front matter, block comments and invisible characters. Lines end with `\n`.
    pub(crate) content: String,
    pub(crate) lines: usize,
    pub(crate) chars: usize,
    /// The `paths` in the front matter.
    pub(crate) paths: Option<Vec<String>>,
    pub(crate) warnings: Vec<String>,
}

/// Converts the bytes; `None` if they are not UTF-8.
pub(crate) fn read(bytes: Vec<u8>) -> Option<InstructionText> {
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
    let Front { body, paths } = front::split(&text);
    let (body, unclosed) = comments::strip(body);
    let hidden = unseen::find(&body).len();
    let body = unseen::strip(&body);
    let content = body.trim_matches('\n').trim_end().to_owned();
    let (lines, chars) = (content.lines().count(), content.chars().count());
    let warnings = [
        (chars > MANY_CHARS).then(|| {
            format!(
                "{chars} characters: models follow instructions less closely in files with more than {MANY_CHARS} characters"
            )
        }),
        (lines > MANY_LINES).then(|| {
            format!("{lines} lines: models follow instructions less closely in files with more than {MANY_LINES} lines")
        }),
        unclosed.then(|| "a comment (<!--) is never closed, so it was kept".to_owned()),
        (hidden > 0).then(|| {
            format!(
                "invisible characters were removed ({hidden} in total): check where they come from"
            )
        }),
    ];
    let warnings = warnings.into_iter().flatten().collect();
    Some(InstructionText { content, lines, chars, paths, warnings })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> InstructionText {
        read(bytes.to_vec()).unwrap()
    }

    #[test]
    fn marks_and_line_ends_of_other_systems() {
        let read = text(b"\xef\xbb\xbf---\r\npaths: a\r\n---\r\n# A\r\n\r\n<!-- x -->\r\nb\r\n");
        assert_eq!((read.content.as_str(), read.lines), ("# A\n\nb", 3));
        assert_eq!(read.paths, Some(vec!["a".to_owned()]));
        assert!(read.warnings.is_empty());
    }

    #[test]
    fn no_text() {
        assert_eq!(read(vec![0xff, 0xfe, b'a', 0]), None);
        assert_eq!(read(b"PK\0\x03".to_vec()), None);
    }

    #[test]
    fn sizes_are_warned_of_only_above_their_bounds() {
        let warned = |text: String| read(text.into_bytes()).unwrap().warnings.len();
        assert_eq!(warned("a".repeat(40_000)), 0);
        assert_eq!(warned("ä".repeat(40_000)), 0, "characters, not bytes");
        assert_eq!(warned("a".repeat(40_001)), 1);
        assert_eq!(warned("a\n".repeat(200)), 0);
        assert_eq!(warned("a\n".repeat(201)), 1);
        assert_eq!(
            warned(format!("<!--\n{}-->\nshort", "a\n".repeat(300))),
            0,
            "what is loaded counts"
        );
    }

    #[test]
    fn hidden_orders_are_left_out_and_told() {
        let read = text("a\u{200b}b".as_bytes());
        assert_eq!(read.content, "ab");
        assert!(read.warnings[0].contains("removed (1 in total)"), "{:?}", read.warnings);
    }
}
