//! Removes HTML comments that are on separate lines: they are notes between people and not part of the prompt.

use crate::lines::{LineContext, LineReader};

/// Removes block comments. An unclosed comment is kept, because removing it would remove the rest of the file. Also
/// returns whether the text has an unclosed comment.
pub(crate) fn strip(text: &str) -> (String, bool) {
    let (mut out, mut lines) = (String::with_capacity(text.len()), LineReader::default());
    let (mut rest, mut unclosed) = (text, false);
    while !rest.is_empty() {
        let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        // A comment cannot open a fence, so it is checked before the line is read.
        if !unclosed && lines.clone().place(line) == LineContext::Prose && opens(line) {
            match close(rest) {
                Some(at) => {
                    rest = leftover(rest.get(at..).unwrap_or_default());
                    continue;
                }
                None => unclosed = true,
            }
        }
        lines.place(line);
        out.push_str(line);
        rest = after;
    }
    (out, unclosed)
}

fn opens(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    line.len() - text.len() <= 3 && text.starts_with("<!--")
}

fn close(text: &str) -> Option<usize> {
    let begin = text.find("<!--")? + 4;
    // `<!-->` is a complete comment.
    let from = begin.checked_sub(2)?;
    Some(from + text.get(from..)?.find("-->")? + 3)
}

/// Returns the rest of the line on which a comment ended, or an empty string if the rest is blank.
fn leftover(rest: &str) -> &str {
    let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
    let (line, after) = rest.split_at(end);
    if line.trim().is_empty() { after } else { rest.trim_start_matches(' ') }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(strip(text), (expect.to_owned(), false), "{text}");
    }

    #[test]
    fn block_comments_go() {
        check("a\n<!-- note -->\nb\n", "a\nb\n");
        check("a\n\n<!-- one\n\ntwo -->\n\nb\n", "a\n\n\nb\n");
        check("<!-- x --> text\n", "text\n");
        check("  <!-- x -->\nb", "b");
        check("<!-- a --><!-- b -->\nc", "c");
        check("<!---->\nb", "b");
        check("<!-- ``` -->\nb\n<!-- ``` -->\n", "b\n");
        check("<!-- a -->", "");
        check("- item\n<!-- x -->\n- item\n", "- item\n- item\n");
    }

    #[test]
    fn what_is_code_or_inline_stays() {
        for text in [
            "```html\n<!-- shown -->\n```\n",
            "text <!-- inline --> text\n",
            "a\n\n    <!-- code -->\n",
            "`<!--` opens one and `-->` closes it\n",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn a_comment_that_never_ends_stays() {
        let text = "a\n<!-- oops\nrules\n<!-- more\n";
        assert_eq!(strip(text), (text.to_owned(), true));
    }

    #[test]
    fn many_open_comments_are_searched_for_their_end_once() {
        let text = "<!-- a\n".repeat(200_000);
        assert!(strip(&text).1);
    }
}
