//! Edits as text, `<edit><old>…</old><new>…</new></edit>`, for sessions whose client has no edit tool. A fork cannot get
//! tools that its session does not have.

use super::MAX_EDITS;

/// Returns the edits in a reply, in order, as old and new text, at most [`MAX_EDITS`]. One line ending next to each tag
/// is removed. An incomplete block is skipped and never extends into the next block.
pub fn text_edits(reply: &str) -> Vec<(String, String)> {
    let blocks = reply.split("<edit>").skip(1).filter_map(block);
    blocks.take(MAX_EDITS).map(|(old, new)| (inner(old), inner(new))).collect()
}

fn block(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start().strip_prefix("<old>")?;
    let (old, text) = until(text, ["</old>", "<new>"])?;
    let (new, _) = until(text, ["</new>", "</edit>"])?;
    Some((old, new))
}

/// Returns the text before and after these two tags. Only the two tags together end a text, so the text may contain
/// either one alone.
fn until<'a>(text: &'a str, [first, second]: [&str; 2]) -> Option<(&'a str, &'a str)> {
    text.match_indices(first).find_map(|(at, _)| {
        let after = text[at + first.len()..].trim_start().strip_prefix(second)?;
        Some((&text[..at], after))
    })
}

fn inner(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let text = text.strip_prefix('\n').unwrap_or(&text);
    text.strip_suffix('\n').unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reply: &str, expect: &[(&str, &str)]) {
        let found = text_edits(reply);
        let found: Vec<_> = found.iter().map(|(old, new)| (old.as_str(), new.as_str())).collect();
        assert_eq!(found, expect, "{reply}");
    }

    #[test]
    fn text_in_blocks_is_unchanged() {
        check("<edit><old>a</old><new>b</new></edit>", &[("a", "b")]);
        check(
            "First:\n<edit>\n<old>\n  a\n\nb \n</old>\n<new>\n</new>\n</edit>\n and\r\n<edit>\r\n<old>\r\nc\r\n</old> <new>d\n\n</new></edit>",
            &[("  a\n\nb ", ""), ("c", "d\n")],
        );
        check("<edit><old>x</old> y</old><new>a &lt; b </new> z</new></edit>", {
            &[("x</old> y", "a &lt; b </new> z")]
        });
    }

    #[test]
    fn incomplete_blocks_are_skipped() {
        check("", &[]);
        check("<edit>", &[]);
        check("<edit><new>b</new><old>a</old></edit>", &[]);
        check("<edit><old>a</old><new>b</new>", &[]);
        check(
            "<edit><old>a</old><new>b</new> <edit><old>c</old><new>d</new></edit>",
            &[("c", "d")],
        );
        check("<edit><old>a</old></edit><edit><old>b</old><new>c</new></edit>", &[("b", "c")]);
        let many = "<edit><old>a</old><new>b</new></edit>".repeat(500);
        assert_eq!(text_edits(&many).len(), MAX_EDITS);
    }
}
